import type { Policy } from "@headgate/core";
import { fixedWindow, gcra, memoryStore } from "@headgate/core";
import { byHeader, perRequest } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, inject, onTestFinished, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";
import { uniquePrefix } from "./support/redis-client.ts";

const base = gcra({ limit: 3, window: "1h" });
const hourly = (limit: number) => gcra({ limit, window: "1h" });

/** The plans that a request may be under; each request gets an object of its own. */
const PLANS: Readonly<Record<string, () => unknown>> = {
  free: () => hourly(3),
  pro: () => hourly(10),
  listed: () => [hourly(10)],
  staff: () => null,
  "another window": () => gcra({ limit: 4, window: "2h" }),
  "another algorithm": () => fixedWindow({ limit: 5, window: "1h" }),
  "another name": () => gcra({ limit: 6, window: "1h", name: "mine" }),
  "one more": () => [hourly(7), gcra({ limit: 8, window: "2h" })],
  "another dimension": () => gcra({ limit: 3, window: "1h", per: "ip" }),
  nothing: () => undefined,
  number: () => 10,
  none: () => [],
  "a bad number": () => hourly(-1),
  "no plain object": () =>
    new (class Row {
      algorithm = "gcra";
      limit = 3;
      window = "1h";
    })(),
};

const limitsOf = ({ headers }: AnyRequest) => PLANS[String(headers["x-plan"])]?.() as Policy;

const as = (user: string, plan: string) => ({ headers: { "x-user": user, "x-plan": plan } });

const fieldsIn = (headers: object) =>
  Object.keys(headers).filter((name) => /ratelimit|retry-after/.test(name));

describeAdapters(({ serve }) => {
  const serving = (more: Partial<SharedOptions> = {}) =>
    serve({
      limits: {
        limits: perRequest(base, limitsOf as (request: AnyRequest) => typeof base),
        key: byHeader("x-user"),
        ...more,
      },
    });

  test("a request has its own limits, and the count continues", async () => {
    const { sendRequest } = await serving();
    for (let i = 0; i < 3; i += 1)
      expect((await sendRequest("/", as("ann", "free"))).status).toBe(200);
    expect((await sendRequest("/", as("ann", "free"))).status).toBe(429);
    const upgraded = await sendRequest("/", as("ann", "pro"));
    expect(upgraded.status).toBe(200);
    expect(upgraded.headers).toMatchObject({
      "x-ratelimit-limit": "10",
      "x-ratelimit-remaining": "6",
      "ratelimit-policy": '"3-per-1h";q=10;w=3600',
      ratelimit: expect.stringMatching(/^"3-per-1h";r=6;t=\d+$/),
    });
    const back = await sendRequest("/", as("ann", "free"));
    expect(back.status).toBe(429);
    expect(back.headers).toMatchObject({
      "ratelimit-policy": '"3-per-1h";q=3;w=3600',
      ratelimit: expect.stringMatching(/^"3-per-1h";r=0;t=\d+$/),
    });
    expect(back.json()).toMatchObject({ "violated-policies": ["3-per-1h"] });
    expect((await sendRequest("/", as("bob", "free"))).headers["x-ratelimit-remaining"]).toBe("2");
  });

  test("the function of perRequest may be asynchronous and return an array", async () => {
    const { sendRequest } = await serving({
      limits: perRequest(base, async (request: AnyRequest) => limitsOf(request) as typeof base),
    });
    const listed = await sendRequest("/", as("ann", "listed"));
    expect(listed.headers["ratelimit-policy"]).toBe('"3-per-1h";q=10;w=3600');
  });

  test("null means not limited: no headers, no decision, no key", async () => {
    const site = await serving({ missingKey: "reject" });
    const response = await site.sendRequest("/", { headers: { "x-plan": "staff" } });
    expect(response.status).toBe(200);
    expect(fieldsIn(response.headers)).toEqual([]);
    expect(response.json()).toBeNull();
    expect((await site.sendRequest("/", { headers: { "x-plan": "free" } })).status).toBe(400);
  });

  test.each([
    ["another window", '"4-per-2h";q=4;w=7200', /^"4-per-2h";r=3;t=\d+$/],
    ["another algorithm", '"5-per-1h";q=5;w=3600', /^"5-per-1h";r=4;t=\d+$/],
    [
      "one more",
      '"7-per-1h";q=7;w=3600, "8-per-2h";q=8;w=7200',
      /^"7-per-1h";r=6;t=\d+, "8-per-2h";r=7;t=\d+$/,
    ],
  ])("%s has a separate counter", async (plan, policy, left) => {
    const { sendRequest } = await serving();
    for (let i = 0; i < 4; i += 1) await sendRequest("/", as("ann", "free"));
    const { status, headers } = await sendRequest("/", as("ann", plan));
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "ratelimit-policy": policy,
      ratelimit: expect.stringMatching(left),
    });
    expect((await sendRequest("/", as("ann", "free"))).status).toBe(429);
  });

  test("another name is reported, and continues the count", async () => {
    const { sendRequest } = await serving();
    for (let i = 0; i < 3; i += 1) await sendRequest("/", as("ann", "free"));
    const { headers } = await sendRequest("/", as("ann", "another name"));
    expect(headers).toMatchObject({
      "ratelimit-policy": '"mine";q=6;w=3600',
      ratelimit: expect.stringMatching(/^"mine";r=2;t=\d+$/),
    });
  });

  test('a request without the subjects of its own limits is not limited with missingKey: "skip"', async () => {
    const both = [hourly(1), gcra({ limit: 1, window: "1h", per: "user", name: "user" })];
    const perUser = () => gcra({ limit: 1, window: "1d", per: "user" });
    for (const wait of [false, "1ms"] as const) {
      const { sendRequest } = await serve({
        limits: {
          limits: perRequest(both, (_: AnyRequest) => perUser()),
          key: { user: byHeader("x-user") },
          missingKey: "skip",
          wait,
        },
      });
      for (let i = 0; i < 2; i += 1) {
        const { status, headers } = await sendRequest("/");
        expect({ status, fields: fieldsIn(headers) }).toEqual({ status: 200, fields: [] });
      }
      const statuses = [
        await sendRequest("/", as("ann", "")),
        await sendRequest("/", as("ann", "")),
      ];
      expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
    }
  });

  test("limits of a request that block are an error in a guard with wait", async () => {
    const guarded = { ...hourly(1), block: "1h" } as const;
    const site = await serving({ limits: perRequest(base, () => guarded), wait: "1ms" });
    expect((await site.sendRequest("/", as("ann", "free"))).status).toBe(500);
    expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_LIMIT" }]);
  });

  test("with count, failures set the block of a request's own limits, even if the base has none", async () => {
    const guarded = fixedWindow({ limit: 1, window: "1d", block: "1h" });
    const { sendRequest } = await serving({
      limits: perRequest(base, () => guarded as never),
      count: (_request, _reply) => true,
    });
    expect((await sendRequest("/", as("ann", "free"))).status).toBe(200);
    const denied = await sendRequest("/", as("ann", "free"));
    expect(denied.status).toBe(429);
    expect(Number(denied.headers["retry-after"])).toBeLessThanOrEqual(3_600);
  });

  const broken = Object.keys(PLANS).slice(Object.keys(PLANS).indexOf("another dimension"));

  test.each(broken)(
    "limits of %s are an error, so that the request is not unlimited",
    async (plan) => {
      const site = await serving();
      const response = await site.sendRequest("/", as("ann", plan));
      expect(response.status).toBe(500);
      expect(fieldsIn(response.headers)).toEqual([]);
      expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_LIMIT" }]);
      expect(site.errors[0]?.message).not.toMatch(/-1|ip/);
      expect(site.handled).toEqual([]);
      // Nothing was charged, and the next request is asked.
      expect(
        (await site.sendRequest("/", as("ann", "free"))).headers["x-ratelimit-remaining"],
      ).toBe("2");
    },
  );

  test("an error of the function of perRequest, now or later, goes to the error handler", async () => {
    const failing = () => {
      throw new Error("no billing");
    };
    for (const limits of [failing, async () => failing()]) {
      const site = await serving({ limits: perRequest(base, limits) });
      expect((await site.sendRequest()).status).toBe(500);
      expect(site.errors).toMatchObject([{ message: "no billing" }]);
      expect(site.handled).toEqual([]);
    }
  });

  test("the base decides which keys are needed, and is validated at construction", async () => {
    const bases: (readonly [Policy<never>, string])[] = [
      [hourly(-1), "HEADGATE_INVALID_LIMIT"],
      [[] as never, "HEADGATE_INVALID_LIMIT"],
      [gcra({ limit: 1, window: "1h", per: "tenant" }) as never, "HEADGATE_INVALID_OPTION"],
      [undefined as never, "HEADGATE_INVALID_LIMIT"],
    ];
    for (const [wrong, code] of bases) {
      const limits = perRequest(wrong, (_: AnyRequest) => null);
      await expect(serve({ limits: { limits } })).rejects.toMatchObject({ code });
    }
    await expect(serve({ limits: { limits: { base } as never } })).rejects.toMatchObject({
      code: expect.stringMatching(/^HEADGATE_INVALID_/),
    });
    const lease = { max: 10, ttl: "1s" } as const;
    await expect(serving({ lease })).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  });

  test("costs, dimensions and missing keys follow the request's own limits", async () => {
    const plan = (user: number, tenant: number) => [
      gcra({ limit: user, window: "1h", name: "user" }),
      gcra({ limit: tenant, window: "1h", name: "tenant", per: "tenant" }),
    ];
    const { sendRequest } = await serve({
      limits: {
        limits: perRequest(plan(1, 1), () => plan(10, 20)),
        key: { default: byHeader("x-user"), tenant: byHeader("x-tenant") },
        missingKey: "skip",
        cost: ({ headers }) => Number(headers["x-cost"] ?? 1),
      },
    });
    const both = { "x-user": "ann", "x-tenant": "acme", "x-cost": "4" };
    const first = await sendRequest("/", { headers: both });
    expect(first.headers["ratelimit-policy"]).toBe('"user";q=10;w=3600, "tenant";q=20;w=3600');
    expect(first.headers["ratelimit"]).toMatch(/^"user";r=6;t=\d+, "tenant";r=16;t=\d+$/);
    const alone = await sendRequest("/", { headers: { "x-tenant": "acme" } });
    expect(alone.headers["ratelimit-policy"]).toBe('"tenant";q=20;w=3600');
    expect(alone.headers["ratelimit"]).toMatch(/^"tenant";r=15;t=\d+$/);
  });

  test("a limiter mounted twice decides the remaining dimensions by the limits of the second mount", async () => {
    const store = memoryStore();
    const limits = [hourly(3), gcra({ limit: 3, window: "1h", per: "user", name: "user" })];
    const more = [hourly(9), gcra({ limit: 7, window: "1h", per: "user", name: "user" })];
    const key = { user: byHeader("x-user") };
    const options = {
      name: "api",
      store,
      limits: perRequest(limits, (_: AnyRequest) => more),
      missingKey: "skip",
    };
    const { sendRequest } = await serve({
      limits: [
        { ...options, key: { user: () => undefined } },
        { ...options, key },
      ] as SharedOptions[],
    });
    const { headers } = await sendRequest("/", as("ann", ""));
    expect(headers["ratelimit"]).toMatch(/^"3-per-1h";r=8;t=\d+, "user";r=6;t=\d+$/);
    expect(headers["ratelimit-policy"]).toBe('"3-per-1h";q=9;w=3600, "user";q=7;w=3600');
  });

  test("on Redis a denial with one plan's limits denies no request with another plan's", async () => {
    const redis = new Redis(inject("redisSocket"));
    onTestFinished(async () => {
      await redis.quit();
    });
    const store = redisStore(redis, { prefix: uniquePrefix() });
    const { sendRequest } = await serving({ name: "api", store, storeTimeout: "10s" });
    const statuses: number[] = [];
    for (const plan of ["free", "free", "free", "free", "free", "pro", "free", "pro"]) {
      statuses.push((await sendRequest("/", as("ann", plan))).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429, 200, 429, 200]);
  });
});
