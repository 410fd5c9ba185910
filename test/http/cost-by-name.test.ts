import type { Cost, CostByName } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { byTier, perRequest } from "@headgate/core/http";
import headgate, { perRequest as perFastifyRequest } from "@headgate/fastify";
import Fastify from "fastify";
import { describe, expect, test } from "vitest";
import { start } from "./fastify/start.ts";
import { describeFrameworks } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";

const hourly = (name: string, limit: number, per?: string) =>
  fixedWindow({ limit, window: "1h", name, ...(per && { per }) }) as ReturnType<typeof fixedWindow>;

const requests = hourly("requests", 3);
const tokens = hourly("tokens", 1_000);
const limits = [requests, tokens];

/** As the request says, in JSON. */
const costOf = ({ headers }: AnyRequest) => JSON.parse(String(headers["x-cost"])) as Cost;

describeFrameworks(({ serve }) => {
  const serving = (options: Partial<SharedOptions> = {}) =>
    serve({ limits: { limits, cost: costOf, ...options } });
  const costing = (cost: unknown) => ({ headers: { "x-cost": JSON.stringify(cost) } });

  test("each limit is charged its own, in one decision", async () => {
    const { ask } = await serving();
    const first = await ask("/", costing({ tokens: 600 }));
    expect(first.json()).toMatchObject({ cost: { requests: 1, tokens: 600 } });
    expect(first.headers["ratelimit"]).toMatch(/^"requests";r=2;t=\d+, "tokens";r=400;t=\d+$/);
    const denied = await ask("/", costing({ tokens: 401 }));
    expect(denied.status).toBe(429);
    expect(denied.json()).toMatchObject({ "violated-policies": ["tokens"] });
    expect(denied.headers["ratelimit"]).toMatch(/^"requests";r=2;t=\d+, "tokens";r=400;t=\d+$/);
    const later = await ask("/", costing(1));
    expect(later.headers["ratelimit"]).toMatch(/^"requests";r=1;t=\d+, "tokens";r=399;t=\d+$/);
  });

  test("a limit that is left out stays in the policy, and is reported nowhere else", async () => {
    const { ask } = await serving();
    const { headers, json } = await ask("/", costing({ tokens: 0 }));
    expect(headers["ratelimit-policy"]).toBe('"requests";q=3;w=3600, "tokens";q=1000;w=3600');
    expect(headers["ratelimit"]).toMatch(/^"requests";r=2;t=\d+$/);
    expect(headers["x-ratelimit-limit"]).toBe("3");
    expect(json()).toMatchObject({ cost: { requests: 1 }, limits: [{ name: "requests" }] });
  });

  test("the policy has the request's numbers of a limit that is left out, where it has some", async () => {
    const { ask } = await serving({
      limits: perRequest(limits, async () => [hourly("requests", 30), hourly("tokens", 50)]),
      cost: { tokens: 0 },
    });
    const { headers } = await ask();
    expect(headers["ratelimit-policy"]).toBe('"requests";q=30;w=3600, "tokens";q=50;w=3600');
    expect(headers["ratelimit"]).toMatch(/^"requests";r=29;t=\d+$/);
  });

  test("the function may be async, and a fixed cost an object", async () => {
    const later = await serving({ cost: async (request) => costOf(request) });
    const cost = { requests: 1, tokens: 7 };
    expect((await later.ask("/", costing({ tokens: 7 }))).json()).toMatchObject({ cost });
    const fixed = await serving({ cost: { tokens: 7 } });
    expect((await fixed.ask()).json()).toMatchObject({ cost });
  });

  test.each([{ token: 5 }, { tokens: -1 }, { tokens: "5" }, { tokens: null }, [5]])(
    "a function that returns %j is an error, never an unlimited request",
    async (cost) => {
      const site = await serving();
      expect((await site.ask("/", costing(cost))).status).toBe(500);
      expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_COST" }]);
      expect(site.handled).toEqual([]);
    },
  );

  test.each([{ token: 5 }, { tokens: 1.5 }, { tokens: undefined }])(
    "%j in the options is an error at construction",
    async (cost) => {
      await expect(serving({ cost: cost as CostByName })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_COST",
      });
    },
  );

  test("a cost of 0 for every limit charges nothing and is allowed, with the headers of what is left", async () => {
    const site = await serving();
    for (let i = 0; i < 4; i += 1) {
      const { status, headers } = await site.ask("/", costing({ requests: 0, tokens: 0 }));
      expect(status).toBe(200);
      expect(headers["ratelimit"]).toBe('"requests";r=3;t=0, "tokens";r=1000;t=0');
    }
  });

  test("a list in the options is an error at construction, and so is a cost by name beside lease", async () => {
    const code = "HEADGATE_INVALID_OPTION";
    await expect(serving({ cost: [5] as never })).rejects.toMatchObject({ code });
    const lease = { max: 10, ttl: "1s" } as const;
    await expect(serving({ cost: { tokens: 5 }, lease })).rejects.toMatchObject({ code });
    const limiter = createLimiter({ limits, lease });
    await expect(serve({ limits: { limiter, cost: { tokens: 5 } } })).rejects.toMatchObject({
      code,
    });
  });

  test("an object in the options costs what it did when it was checked", async () => {
    const cost: Record<string, number> = { tokens: 7 };
    const { ask } = await serving({ cost });
    cost["tokens"] = 8;
    cost["token"] = 9;
    expect((await ask()).json()).toMatchObject({ cost: { requests: 1, tokens: 7 } });
  });

  test("every tier has to have its names, where it is fixed; where it is not, that of the request", async () => {
    const tiers = byTier({ all: limits, one: requests }, ({ headers }: AnyRequest) =>
      headers["x-tier"] === "one" ? "one" : "all",
    );
    const code = "HEADGATE_INVALID_COST";
    await expect(serving({ limits: tiers, cost: { tokens: 5 } })).rejects.toMatchObject({ code });
    const site = await serving({ limits: tiers });
    const cost = costing({ tokens: 5 });
    expect((await site.ask("/", cost)).status).toBe(200);
    const asked = await site.ask("/", { headers: { ...cost.headers, "x-tier": "one" } });
    expect(asked.status).toBe(500);
    expect(site.errors).toMatchObject([{ code }]);
  });

  test("a request that lacks the key of all that it would be asked passes", async () => {
    const site = await serving({
      limits: [hourly("requests", 3, "user"), hourly("tokens", 9, "team")],
      key: {
        user: ({ headers }) => headers["x-user"] as string | undefined,
        team: () => "team",
      },
      missingKey: "skip",
      cost: { tokens: 0 },
    });
    const keyless = await site.ask();
    expect(keyless.status).toBe(200);
    expect(keyless.headers["ratelimit"]).toBe('"tokens";r=9;t=0');
    const known = await site.ask("/", { headers: { "x-user": "ann" } });
    expect(known.headers["ratelimit"]).toMatch(/^"requests";r=2;t=\d+$/);
  });
});

describe("behind Fastify", () => {
  test("a request is settled by name, over both limiters where one extends the other", async () => {
    const app = Fastify();
    await app.register(headgate, { name: "api", limits: requests, cost: { requests: 1 } });
    const own = { limits: tokens, extend: true, cost: { tokens: 500 } };
    app.get("/", { config: { rateLimit: own } }, async (request) => {
      const settled = await app.headgate.decisionOf(request)?.settle({ tokens: 731 });
      const again = await app.headgate.limiter.peek("127.0.0.1", { cost: 0 });
      return { ...settled, left: again.remaining };
    });
    const ask = await start(app);
    expect((await ask("/")).json()).toEqual({
      counted: { requests: 1, tokens: 731 },
      overflow: { requests: 0, tokens: 0 },
      degraded: false,
      left: 2,
    });
    const { headers } = await ask("/");
    expect(headers).toMatchObject({
      "ratelimit-policy": '"requests";q=3;w=3600, "tokens";q=1000;w=3600',
    });
    // 500 is more than the 269 that are left.
    expect(headers["retry-after"]).toBeDefined();
  });

  test("what is extended is charged what is named of it, where a request has no limits beside it", async () => {
    const app = Fastify();
    await app.register(headgate, { name: "api", limits: requests });
    const cost = { tokens: 5, requests: 2 };
    const own = { limits: perFastifyRequest(tokens, () => null), extend: true, cost };
    app.get("/", { config: { rateLimit: own } }, async (request) => request.rateLimit?.cost);
    const free = { ...own, cost: { tokens: 5, requests: 0 } };
    app.get("/free", { config: { rateLimit: free } }, async (request) => ({
      asked: request.rateLimit !== undefined && request.rateLimit !== null,
    }));
    const ask = await start(app);
    expect((await ask("/")).json()).toEqual({ requests: 2 });
    expect((await ask("/free")).json()).toEqual({ asked: true });
  });

  test.each([[[5]], [new Date(0)]])(
    "a function that returns %j is an error there, too",
    async (cost) => {
      const app = Fastify();
      await app.register(headgate, { name: "api", limits: requests });
      const limits = perFastifyRequest(tokens, () => null);
      const own = { limits, extend: true, cost: () => cost as never };
      app.get("/", { config: { rateLimit: own } }, async () => "");
      const ask = await start(app);
      expect((await ask("/")).json()).toMatchObject({ code: "HEADGATE_INVALID_COST" });
    },
  );

  test("a route's cost by name beside the plugin's lease is an error when it is added", async () => {
    const app = Fastify();
    const lease = { max: 10, ttl: "1s" } as const;
    await app.register(headgate, { name: "api", limits: requests, lease });
    app.get("/", { config: { rateLimit: { cost: { requests: 2 } } } }, async () => "");
    await expect(app.ready()).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  });

  test("a route that inherits a cost with names of other limits is an error when it is added", async () => {
    const app = Fastify();
    await app.register(headgate, { name: "api", limits, cost: { tokens: 5 } });
    app.get("/", { config: { rateLimit: { limits: requests } } }, async () => "");
    await expect(app.ready()).rejects.toMatchObject({ code: "HEADGATE_INVALID_COST" });
  });
});
