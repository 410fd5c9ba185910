import { setTimeout as delay } from "node:timers/promises";
import { gcra, memoryStore } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { byHeader, byTier, perRequest } from "@headgate/core/http";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { overridden } from "../support/overriding.ts";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";
import { recordDecisions } from "./support/record-decisions.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";

const hourly = (limit: number) => gcra({ limit, window: "1h", name: "hourly" });
const to = (limit: number) => ({ limits: { hourly: { limit } } });
const as = (user: string, plan = "free") => ({ headers: { "x-user": user, "x-plan": plan } });

const OURS = /ratelimit|retry-after|cache-control/;
const fieldsIn = (headers: object) => Object.keys(headers).filter((name) => OURS.test(name));

const redis = useRedis();

describeAdapters(({ serve }) => {
  test("clients see an override that an operator sets in Redis within the documented time", async () => {
    const prefix = uniquePrefix();
    const store = requireStore(redisStore(redis, { prefix }));
    const { sendRequest } = await serve({
      limits: {
        name: "api",
        limits: hourly(2),
        store,
        key: byHeader("x-user"),
        storeTimeout: "1m",
      },
    });
    expect((await sendRequest("/", as("ann"))).headers["ratelimit-policy"]).toBe(
      '"hourly";q=2;w=3600',
    );
    const admin = createAdmin(requireStore(redisStore(redis, { prefix })));
    const { effectiveAt } = await admin.setOverride({ limiter: "api", ...to(10) });
    // A timer may be a millisecond early.
    await delay(effectiveAt.getTime() - Date.now() + 1);
    const { headers, json } = await sendRequest("/", as("ann"));
    expect(headers["ratelimit-policy"]).toBe('"hourly";q=10;w=3600');
    expect(json()).toMatchObject({ overridden: true, remaining: 8 });
  });

  async function serving(more: Partial<SharedOptions> = {}) {
    const { store, override } = overridden(requireStore(memoryStore()));
    const limits: SharedOptions = {
      name: "api",
      limits: hourly(2),
      key: byHeader("x-user"),
      store,
      ...more,
    };
    const site = await serve({
      limits,
      routes: { "/": { handle: (request) => request.rateLimit ?? null } },
    });
    return { ...site, override };
  }

  test("headers and decisions report the effective limits", async () => {
    const { sendRequest, override } = await serving();
    expect((await sendRequest("/", as("ann"))).json()).toMatchObject({ overridden: false });
    override(to(10));
    const raised = await sendRequest("/", as("ann"));
    expect(raised.json()).toMatchObject({ overridden: true, limit: 10, remaining: 8 });
    expect(raised.headers).toMatchObject({
      "x-ratelimit-limit": "10",
      "x-ratelimit-remaining": "8",
      "ratelimit-policy": '"hourly";q=10;w=3600',
      ratelimit: expect.stringMatching(/^"hourly";r=8;t=\d+$/),
    });
    override(to(1));
    const denied = await sendRequest("/", as("ann"));
    expect(denied.status).toBe(429);
    expect(denied.headers["ratelimit-policy"]).toBe('"hourly";q=1;w=3600');
    expect(denied.json()).toMatchObject({ "violated-policies": ["hourly"] });
    override();
    expect((await sendRequest("/", as("bob"))).headers["ratelimit-policy"]).toBe(
      '"hourly";q=2;w=3600',
    );
  });

  test("an override for all subjects takes precedence over a request's own limits, and null stays unlimited", async () => {
    const plans: Readonly<Record<string, ReturnType<typeof hourly> | null>> = {
      free: hourly(3),
      staff: null,
    };
    const limitsOf = ({ headers }: AnyRequest) => plans[String(headers["x-plan"])] ?? null;
    const { sendRequest, override } = await serving({ limits: perRequest(hourly(2), limitsOf) });
    expect((await sendRequest("/", as("ann"))).headers["x-ratelimit-limit"]).toBe("3");
    override(to(7));
    expect((await sendRequest("/", as("ann"))).headers["ratelimit-policy"]).toBe(
      '"hourly";q=7;w=3600',
    );
    const staff = await sendRequest("/", as("ann", "staff"));
    expect([staff.status, staff.json(), fieldsIn(staff.headers)]).toEqual([200, null, []]);
  });

  test("a tier is overridden by its own limiter name, and a tier without limits stays unlimited", async () => {
    const tiers = { free: hourly(2), pro: hourly(5), staff: null };
    const tierOf = ({ headers }: AnyRequest) => headers["x-plan"] as keyof typeof tiers;
    const { sendRequest, override } = await serving({ limits: byTier(tiers, tierOf) });
    override({ ...to(9), limiter: "api (free)" }, { ...to(1), limiter: "api (staff)" });
    const limitFor = async (plan: string) =>
      (await sendRequest("/", as("ann", plan))).headers["x-ratelimit-limit"];
    expect(await limitFor("free")).toBe("9");
    expect(await limitFor("pro")).toBe("5");
    expect(await limitFor("staff")).toBeUndefined();
  });

  test("RateLimit-Policy shows the effective limits even if a cost by name leaves limits out", async () => {
    const limits = [hourly(2), gcra({ limit: 100, window: "1h", name: "tokens" })];
    const { sendRequest, override } = await serving({ limits, cost: { tokens: 0 } });
    override({ limits: { tokens: { limit: 500 } } });
    const { headers } = await sendRequest("/", as("ann"));
    expect(headers["ratelimit-policy"]).toBe('"hourly";q=2;w=3600, "tokens";q=500;w=3600');
    expect(headers["ratelimit"]).toMatch(/^"hourly";r=1;t=\d+$/);
  });

  test("a waiting request is allowed when the limit is raised", async () => {
    const { sendRequest, override } = await serving({ wait: "30s" });
    for (let i = 0; i < 2; i += 1) await sendRequest("/", as("ann"));
    const waiting = sendRequest("/", as("ann"));
    await delay(50);
    override(to(3));
    const response = await waiting;
    expect([response.status, response.headers["ratelimit-policy"]]).toEqual([
      200,
      '"hourly";q=3;w=3600',
    ]);
    expect(response.json()).toMatchObject({ overridden: true, remaining: 0 });
  });

  test("requests denied after waiting report the effective limits", async () => {
    const { sendRequest, override } = await serving({ wait: "100ms" });
    await sendRequest("/", as("ann"));
    override(to(1));
    const answers = await Promise.all([1, 2, 3].map(() => sendRequest("/", as("ann"))));
    for (const { status, headers } of answers) {
      expect([status, headers["ratelimit-policy"]]).toEqual([429, '"hourly";q=1;w=3600']);
    }
    override({ shadow: true });
    expect((await sendRequest("/", as("ann"))).status).toBe(200);
  });

  test("shadow mode by an override denies no request, and shows only on the channel", async () => {
    const { sendRequest, override } = await serving();
    const heard = recordDecisions();
    override({ shadow: true });
    for (let i = 0; i < 3; i += 1) {
      const response = await sendRequest("/", as("ann"));
      expect([response.status, response.json(), fieldsIn(response.headers)]).toEqual([
        200,
        null,
        [],
      ]);
    }
    expect(heard.map(({ shadow, decision }) => [shadow, decision.wouldAllow])).toEqual([
      [true, true],
      [true, true],
      [true, false],
    ]);
    override({ shadow: true, subject: { default: "someone else" } });
    expect((await sendRequest("/", as("ann"))).status).toBe(429);
  });

  test("shadow mode by an override does not refuse a request without its key", async () => {
    const { sendRequest, override } = await serving({ missingKey: "reject" });
    expect((await sendRequest()).status).toBe(400);
    override({ shadow: true });
    expect((await sendRequest()).status).toBe(200);
    expect((await sendRequest("/", as("ann"))).json()).toBeNull();
  });

  test("an override can enforce a limiter that is in shadow mode", async () => {
    const { sendRequest, override } = await serving({ shadow: true, missingKey: "reject" });
    for (let i = 0; i < 3; i += 1) expect((await sendRequest("/", as("ann"))).status).toBe(200);
    override({ shadow: false });
    const denied = await sendRequest("/", as("ann"));
    expect(denied.status).toBe(429);
    expect(denied.headers["ratelimit-policy"]).toBe('"hourly";q=2;w=3600');
    await sendRequest("/", as("bob"));
    expect((await sendRequest()).status).toBe(400);
  });
});
