import type { BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { fixedWindow } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { createFleet, THREE_AN_HOUR } from "./support/fleet.ts";
import { mountThroughProxy } from "./support/mount-through-proxy.ts";
import { mounts, nodeMount } from "./support/mounts.ts";
import { ANN, seedDenied } from "./support/seed-denied.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

/** Previews and performs an action. */
async function act(page: string, action: object, reason = "a reason") {
  const preview = await api(page, "preview", { action });
  expect([preview.status, preview.json.error]).toEqual([200, undefined]);
  const { token } = preview.json;
  return { preview: preview.json, done: await api(page, "act", { action, reason, token }) };
}

describe.each(mounts)("actions in $name", ({ mount }) => {
  test.each([false, true])(
    "an action is previewed, performed and logged; bodies parsed by the application: %s",
    async (parsesBodies) => {
      const { options, operator: admin, fleet } = await seedDenied(own.client);
      const page = await mount({ ...options, parsesBodies });
      const began = Date.now();
      const { preview, done } = await act(page, { kind: "unblock", ...ANN }, "she called");
      expect(preview.before).toMatch(
        /^3-per-1h: 3 of 3 used\nblocked by the limit 3-per-1h until /,
      );
      expect(preview.after).toBe("3-per-1h: 0 of 3 used\nnot blocked");
      // Two seconds after the preview.
      expect(Math.round((preview.effectiveAt - preview.at) / 1_000)).toBe(2);
      expect(preview.effectiveAt).toBeGreaterThanOrEqual(began + 2_000);
      expect(preview.effectiveAt).toBeLessThanOrEqual(done.json.effectiveAt);
      // Times of the server are rounded up to whole milliseconds, those of `Date.now` down.
      expect(done.json.effectiveAt).toBeLessThanOrEqual(Date.now() + 2_001);
      expect(done.status).toBe(200);
      expect(done.json.after).toBe(preview.after);
      expect((await admin.log()).entries).toMatchObject([
        { kind: "unblock", by: "eve", reason: "she called", subject: { default: "ann" } },
      ]);
      const inspected = await admin.inspect({ name: "api", limits: THREE_AN_HOUR }, "ann");
      expect([inspected.blocked, fleet.store.prefix]).toEqual([false, "fleet"]);
    },
  );
});

describe("an action", () => {
  test.each<[object, RegExp, RegExp]>([
    [{ kind: "block", ...ANN, forMs: 3_600_000 }, /by the limit/, /blocked until/],
    [{ kind: "unblock", ...ANN }, /blocked by the limit/, /not blocked/],
    [{ kind: "reset", ...ANN }, /3 of 3 used/, /0 of 3 used/],
    [{ kind: "forget", ...ANN }, /3 of 3 used/, /0 of 3 used\nnot blocked\ntaken out of 2 lists/],
    [
      { kind: "setOverride", limiter: "api", limits: { "3-per-1h": { limit: 9 } }, forMs: null },
      /^no override$/,
      /^3-per-1h: limit 9, until it is removed$/,
    ],
    [
      { kind: "setOverride", ...ANN, shadow: true, forMs: 60_000 },
      /^no override$/,
      /^in shadow mode, until 20/,
    ],
    [{ kind: "unsetOverride", limiter: "api" }, /^no override$/, /^no override$/],
    [
      { kind: "addToDenyList", network: "203.0.113.0/24", forMs: 60_000 },
      /^not on the deny list$/,
      /^203.0.113.0\/24: 403 in every HTTP limiter, until 20/,
    ],
    [{ kind: "removeFromDenyList", network: "203.0.113.9" }, /^not/, /^not on the deny list$/],
  ])("%j shows the states before and after", async (action, before, after) => {
    const { page, operator: admin } = await seedDenied(own.client);
    const { preview, done } = await act(page, action);
    expect(preview.before).toMatch(before);
    expect(preview.after).toMatch(after);
    expect(done.status).toBe(200);
    // Formatted times may differ by a second.
    const still = (text: string) => text.replace(/\d\d:\d\d:\d\d/g, "");
    expect(still(done.json.after)).toBe(still(preview.after));
    expect(done.json.effectiveAt).toBeGreaterThanOrEqual(done.json.at);
    expect((await admin.log()).entries).toMatchObject([{ by: "eve" }]);
  });

  test("a breaker can be ordered open if the dashboard has createBreaker", async () => {
    const {
      page,
      fleet,
      operator: admin,
      options,
    } = await seedDenied(own.client, { createBreaker });
    const breaker = createBreaker({ name: "bank", store: fleet.store });
    onTestFinished(() => breaker.close());
    await fleet.report();
    expect((await api(page, "session")).json.actions).toContain("breaker");
    const action = { kind: "breaker", breaker: "bank", target: "eu", order: "open" };
    const { preview, done } = await act(page, action);
    expect([preview.before, preview.after]).toEqual(["closed, 0 calls", "forced-open"]);
    expect(done.status).toBe(200);
    expect((await breaker.for("eu").snapshot()).state).toBe("forced-open");
    expect((await admin.log()).entries).toMatchObject([{ kind: "breaker", limiter: "bank" }]);
    const held = await act(page, { ...action, order: "close" });
    expect([held.preview.after, held.done.json.after]).toEqual(["disabled", "disabled"]);
    const reset = await act(page, { ...action, order: "reset" });
    expect([reset.preview.before, reset.done.json.after]).toEqual(["disabled, 0 calls", "closed"]);
    const unknown = await api(page, "preview", { action: { ...action, breaker: "none" } });
    expect(unknown.status).toBe(404);
    const { createBreaker: _, ...without } = options;
    const plain = await nodeMount.mount(without);
    expect((await api(plain, "session")).json.actions).not.toContain("breaker");
    expect((await api(plain, "preview", { action })).status).toBe(403);
  });

  test("an order to a breaker is logged even if Redis becomes unavailable right after it", async () => {
    const fleet = createFleet(own.client);
    const breaker = createBreaker({ name: "bank", store: fleet.store });
    onTestFinished(() => breaker.close());
    await fleet.report();
    const { page, proxy } = await mountThroughProxy(own.server, {
      createBreaker(options: BreakerOptions) {
        const made = createBreaker(options);
        return {
          close: () => made.close(),
          for(name: string) {
            const target = made.for(name);
            const forceOpen = async (): Promise<void> => {
              await target.forceOpen();
              proxy.hold();
            };
            return {
              target: target.target,
              snapshot: () => target.snapshot(),
              disable: () => target.disable(),
              reset: () => target.reset(),
              forceOpen,
            };
          },
        };
      },
    });
    const action = { kind: "breaker", breaker: "bank", target: "eu", order: "open" };
    expect((await act(page, action, "they are down")).done.status).toBe(503);
    expect((await breaker.for("eu").snapshot()).state).toBe("forced-open");
    expect((await createAdmin(fleet.store).log()).entries).toMatchObject([
      { kind: "breaker", by: "eve", reason: "they are down", after: { state: "forced-open" } },
    ]);
    proxy.pass();
  });

  test("an order to a breaker waits for Redis as long as storeTimeout says", async () => {
    const fleet = createFleet(own.client);
    const breaker = createBreaker({ name: "bank", store: fleet.store });
    onTestFinished(() => breaker.close());
    await breaker.for("eu").run(async () => 1);
    await fleet.report();
    const { page, proxy } = await mountThroughProxy(own.server, {
      createBreaker,
      storeTimeout: "10s",
    });
    // A breaker by itself waits at most 100 ms.
    proxy.delayReplies(200);
    const action = { kind: "breaker", breaker: "bank", target: "eu", order: "open" };
    const { preview, done } = await act(page, action);
    expect([preview.before, done.status]).toEqual(["closed, 1 call, 100% succeeded", 200]);
    expect((await api(page, "breakers")).json.breakers[0].targets).toMatchObject([
      { target: "eu", state: "forced-open" },
    ]);
  });

  test("an order for a target with a long name is logged under the shortened name", async () => {
    const { page, fleet, operator: admin } = await seedDenied(own.client, { createBreaker });
    const breaker = createBreaker({ name: "bank", store: fleet.store });
    onTestFinished(() => breaker.close());
    await fleet.report();
    const named = breaker.for("x".repeat(1_001));
    const action = { kind: "breaker", breaker: "bank", target: "x".repeat(1_001), order: "open" };
    expect((await act(page, action)).done.status).toBe(200);
    expect((await named.snapshot()).state).toBe("forced-open");
    const { target } = named;
    expect((await admin.log()).entries).toMatchObject([{ kind: "breaker", subject: { target } }]);
  });

  test("a preview changes nothing in Redis", async () => {
    const { page } = await seedDenied(own.client);
    const dump = async () => (await own.client.keys("*")).sort();
    const before = await dump();
    const actions = [
      { kind: "block", ...ANN, forMs: 3_600_000 },
      { kind: "forget", ...ANN },
      { kind: "setOverride", limiter: "api", shadow: true, forMs: null },
    ];
    for (const action of actions) {
      expect((await api(page, "preview", { action })).status).toBe(200);
    }
    expect(await dump()).toEqual(before);
    expect((await api(page, "log")).json.rows).toEqual([]);
  });
});

describe("an override set in the dashboard", () => {
  test("also applies to requests with limits of another shape, and is refused if it fits no shape", async () => {
    const fleet = createFleet(own.client);
    const limits = fixedWindow({ limit: 9, window: "1d" });
    await fleet.make("api", THREE_AN_HOUR).consume("ann", { limits });
    await fleet.report();
    const authorize = () => ({ by: "eve", actions: "all" as const });
    const page = await nodeMount.mount({ store: fleet.store, authorize });
    const setting = (name: string) => ({
      kind: "setOverride",
      ...ANN,
      limits: { [name]: { limit: 50 } },
      forMs: null,
    });
    const { preview, done } = await act(page, setting("9-per-1d"));
    expect(preview.after).toBe("9-per-1d: limit 50, until it is removed");
    expect(done.status).toBe(200);
    const misfit = await api(page, "preview", { action: setting("9-per-1w") });
    expect([misfit.status, misfit.json.error.code]).toEqual([400, "HEADGATE_INVALID_OPTION"]);
  });

  test("is refused if it fits no policy, and is shown as ignored by the processes whose policy it does not fit", async () => {
    const { page, fleet } = await seedDenied(own.client);
    const setting = (limits: object) => ({
      kind: "setOverride",
      limiter: "api",
      limits,
      forMs: null,
    });
    const misfit = await api(page, "preview", { action: setting({ "9-per-1h": { limit: 1 } }) });
    expect([misfit.status, misfit.json.error.code]).toEqual([400, "HEADGATE_INVALID_OPTION"]);
    const other = createFleet(own.client);
    other.make("api", fixedWindow({ limit: 4, window: "1h" }));
    await other.report();
    await fleet.report();
    // An action clears the cached registry.
    await act(page, { kind: "reset", ...ANN });
    const partly = await api(page, "preview", { action: setting({ "3-per-1h": { limit: 1 } }) });
    expect(partly.json.after).toMatch(/\nignored: .*4-per-1h/);
  });
});
