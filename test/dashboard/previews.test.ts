import { fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { consume } from "./support/fleet.ts";
import { nodeMount } from "./support/mounts.ts";
import { ANN, seedDenied } from "./support/seed-denied.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

describe("a preview of an action", () => {
  test("can be confirmed once", async () => {
    const { page, operator: admin } = await seedDenied(own.client);
    const action = { kind: "reset", ...ANN };
    const { token } = (await api(page, "preview", { action })).json;
    const body = { action, reason: "once", token };
    const both = await Promise.all([api(page, "act", body), api(page, "act", body)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    const third = await api(page, "act", body);
    expect([third.status, third.json.error.code]).toEqual([409, "PREVIEW_EXPIRED"]);
    expect((await admin.log()).entries).toHaveLength(1);
    const again = await api(page, "act", { ...body, token: third.json.preview.token });
    expect(again.status).toBe(200);
  });

  test("says whom it would affect, by recent usage, and that it cannot know without usage", async () => {
    const { page } = await seedDenied(own.client);
    const impactOf = async (at: string, action: object) =>
      (await api(at, "preview", { action })).json.impact;
    const block = { kind: "block", ...ANN, forMs: 60_000 };
    expect(await impactOf(page, block)).toMatch(
      /^It sent .+ a minute in .+, of which .+ were denied, and at least 5 in the last one\.$/,
    );
    const limits = { "3-per-1h": { limit: 1 } };
    const override = { kind: "setOverride", limiter: "api", limits, forMs: 60_000 };
    // Ann sent 5 requests, and two windows grant her 2.
    expect(await impactOf(page, override)).toMatch(
      /^The new limits would deny at least .+ of at least 1 /,
    );
    const entry = { kind: "addToDenyList", network: "10.0.0.0/8", forMs: 60_000 };
    expect(await impactOf(page, entry)).toContain("usage lists no addresses");
    expect(await impactOf(page, { kind: "reset", ...ANN })).toBeUndefined();
    await own.client.del(...(await own.client.keys("*usage*")));
    const fresh = await nodeMount.mount({
      store: redisStore(own.client, { prefix: "fleet" }),
      authorize: () => ({ by: "eve", actions: "all" as const }),
    });
    for (const action of [block, override, entry]) {
      expect(await impactOf(fresh, action)).toContain("is not known: no usage is recorded");
    }
  });

  test("can be confirmed only while the state is unchanged: a change gives a new preview", async () => {
    const { page, operator: admin } = await seedDenied(own.client);
    const action = { kind: "setOverride", limiter: "api", shadow: true, forMs: null };
    const { token } = (await api(page, "preview", { action })).json;
    await admin.setOverride({ limiter: "api", shadow: false });
    const refused = await api(page, "act", { action, reason: "late", token });
    expect([refused.status, refused.json.error.code]).toEqual([409, "STATE_CHANGED"]);
    expect(refused.json.preview.before).toMatch(/^not in shadow mode/);
    expect((await admin.readControl()).overrides).toMatchObject([{ shadow: false }]);
    const second = await api(page, "act", {
      action,
      reason: "seen",
      token: refused.json.preview.token,
    });
    expect(second.status).toBe(200);
  });

  test("stays valid while the client sends requests, and not after a block", async () => {
    const {
      page,
      fleet,
      operator: admin,
    } = await seedDenied(own.client, {}, fixedWindow({ limit: 3, window: "1h" }));
    const api2 = fleet.make("api", fixedWindow({ limit: 3, window: "1h" }));
    const action = { kind: "reset", ...ANN };
    const { token } = (await api(page, "preview", { action })).json;
    await consume(api2, "ann", 3);
    const done = await api(page, "act", { action, reason: "r", token });
    expect(done.status).toBe(200);
    const other = (await api(page, "preview", { action })).json.token;
    await admin.block(
      { name: "api", limits: fixedWindow({ limit: 3, window: "1h" }) },
      "ann",
      "1h",
    );
    expect((await api(page, "act", { action, reason: "r", token: other })).status).toBe(409);
  });

  test("is valid for one action, one visitor and one dashboard, unless dashboards share a secret", async () => {
    const names = { by: "eve" };
    const authorize = () => ({ ...names, actions: "all" as const });
    const { page, options } = await seedDenied(own.client, { authorize });
    const action = { kind: "reset", ...ANN };
    const shown = async (at: string) => (await api(at, "preview", { action })).json.token;
    const token = await shown(page);
    const other = { kind: "block", ...ANN, forMs: 60_000 };
    expect((await api(page, "act", { action: other, reason: "r", token })).status).toBe(409);
    const forged = `${token.split(".")[0]}.${"A".repeat(43)}`;
    for (const bad of [forged, "", "a.b.c", "x".repeat(1_000)]) {
      expect((await api(page, "act", { action, reason: "r", token: bad })).status).toBe(409);
    }
    names.by = "mallory";
    expect((await api(page, "act", { action, reason: "r", token: await shown(page) })).status).toBe(
      200,
    );
    names.by = "eve";
    const fresh = await shown(page);
    names.by = "mallory";
    expect((await api(page, "act", { action, reason: "r", token: fresh })).status).toBe(409);
    const twins = await Promise.all(
      [1, 2].map(() => nodeMount.mount({ ...options, secret: "the same" })),
    );
    const elsewhere = await nodeMount.mount(options);
    const [one = "", two = ""] = twins;
    const body = { action, reason: "r", token: await shown(one) };
    expect((await api(elsewhere, "act", body)).status).toBe(409);
    expect((await api(two, "act", body)).status).toBe(200);
  });

  test("can be confirmed once by all processes that share a secret", async () => {
    const { options, operator: admin } = await seedDenied(own.client);
    const pages = await Promise.all(
      [1, 2, 3].map(() => {
        const client = own.client.duplicate();
        onTestFinished(() => client.disconnect());
        const store = redisStore(client, { prefix: "fleet" });
        return nodeMount.mount({ ...options, store, secret: "the same" });
      }),
    );
    const action = { kind: "reset", ...ANN };
    const { token } = (await api(pages[0] ?? "", "preview", { action })).json;
    const body = { action, reason: "once", token };
    const all = await Promise.all(pages.map((page) => api(page, "act", body)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect((await admin.log()).entries).toHaveLength(1);
    // Redis remembers the token for twice as long as it is valid, for a process whose clock is behind.
    const [key = ""] = await own.client.keys("fleet:*:dashboard-previews:*");
    expect(await own.client.pttl(key)).toBeGreaterThan(9 * 60_000);
  });
});
