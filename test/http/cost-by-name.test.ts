import type { Cost, CostByName } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { byTier, perRequest } from "@headgate/core/http";
import headgate, { perRequest as perFastifyRequest } from "@headgate/fastify";
import Fastify from "fastify";
import { describe, expect, test } from "vitest";
import { start } from "./fastify/start-fastify.ts";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";

const hourly = (name: string, limit: number, per?: string) =>
  fixedWindow({ limit, window: "1h", name, ...(per && { per }) }) as ReturnType<typeof fixedWindow>;

const requests = hourly("requests", 3);
const tokens = hourly("tokens", 1_000);
const limits = [requests, tokens];

/** As the request says, in JSON. */
const costOf = ({ headers }: AnyRequest) => JSON.parse(String(headers["x-cost"])) as Cost;

describeAdapters(({ serve }) => {
  const serving = (options: Partial<SharedOptions> = {}) =>
    serve({ limits: { limits, cost: costOf, ...options } });
  const costing = (cost: unknown) => ({ headers: { "x-cost": JSON.stringify(cost) } });

  test("a cost by name charges each limit its own units, in one decision", async () => {
    const { sendRequest } = await serving();
    const first = await sendRequest("/", costing({ tokens: 600 }));
    expect(first.json()).toMatchObject({ cost: { requests: 1, tokens: 600 } });
    expect(first.headers["ratelimit"]).toMatch(/^"requests";r=2;t=\d+, "tokens";r=400;t=\d+$/);
    const denied = await sendRequest("/", costing({ tokens: 401 }));
    expect(denied.status).toBe(429);
    expect(denied.json()).toMatchObject({ "violated-policies": ["tokens"] });
    expect(denied.headers["ratelimit"]).toMatch(/^"requests";r=2;t=\d+, "tokens";r=400;t=\d+$/);
    const later = await sendRequest("/", costing(1));
    expect(later.headers["ratelimit"]).toMatch(/^"requests";r=1;t=\d+, "tokens";r=399;t=\d+$/);
  });

  test("a limit with cost 0 stays in RateLimit-Policy, and is not reported elsewhere", async () => {
    const { sendRequest } = await serving();
    const { headers, json } = await sendRequest("/", costing({ tokens: 0 }));
    expect(headers["ratelimit-policy"]).toBe('"requests";q=3;w=3600, "tokens";q=1000;w=3600');
    expect(headers["ratelimit"]).toMatch(/^"requests";r=2;t=\d+$/);
    expect(headers["x-ratelimit-limit"]).toBe("3");
    expect(json()).toMatchObject({ cost: { requests: 1 }, limits: [{ name: "requests" }] });
  });

  test("RateLimit-Policy shows the request's own numbers for a limit with cost 0", async () => {
    const { sendRequest } = await serving({
      limits: perRequest(limits, async () => [hourly("requests", 30), hourly("tokens", 50)]),
      cost: { tokens: 0 },
    });
    const { headers } = await sendRequest();
    expect(headers["ratelimit-policy"]).toBe('"requests";q=30;w=3600, "tokens";q=50;w=3600');
    expect(headers["ratelimit"]).toMatch(/^"requests";r=29;t=\d+$/);
  });

  test("a cost by name may come from an async function or be a fixed object", async () => {
    const later = await serving({ cost: async (request) => costOf(request) });
    const cost = { requests: 1, tokens: 7 };
    expect((await later.sendRequest("/", costing({ tokens: 7 }))).json()).toMatchObject({ cost });
    const fixed = await serving({ cost: { tokens: 7 } });
    expect((await fixed.sendRequest()).json()).toMatchObject({ cost });
  });

  test.each([{ token: 5 }, { tokens: -1 }, { tokens: "5" }, { tokens: null }, [5]])(
    "a cost function returning %j is an error, so that the request is not unlimited",
    async (cost) => {
      const site = await serving();
      expect((await site.sendRequest("/", costing(cost))).status).toBe(500);
      expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_COST" }]);
      expect(site.handled).toEqual([]);
    },
  );

  test.each([{ token: 5 }, { tokens: 1.5 }, { tokens: undefined }])(
    "the option cost rejects %j by name",
    async (cost) => {
      await expect(serving({ cost: cost as CostByName })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_COST",
      });
    },
  );

  test("a cost of 0 for every limit is allowed and charges nothing, with the headers of the remaining units", async () => {
    const site = await serving();
    for (let i = 0; i < 4; i += 1) {
      const { status, headers } = await site.sendRequest("/", costing({ requests: 0, tokens: 0 }));
      expect(status).toBe(200);
      expect(headers["ratelimit"]).toBe('"requests";r=3;t=0, "tokens";r=1000;t=0');
    }
  });

  test("the option cost rejects an array, and a cost by name together with lease", async () => {
    const code = "HEADGATE_INVALID_OPTION";
    await expect(serving({ cost: [5] as never })).rejects.toMatchObject({ code });
    const lease = { max: 10, ttl: "1s" } as const;
    await expect(serving({ cost: { tokens: 5 }, lease })).rejects.toMatchObject({ code });
    const limiter = createLimiter({ limits, lease });
    await expect(serve({ limits: { limiter, cost: { tokens: 5 } } })).rejects.toMatchObject({
      code,
    });
  });

  test("changing the cost object after construction has no effect", async () => {
    const cost: Record<string, number> = { tokens: 7 };
    const { sendRequest } = await serving({ cost });
    cost["tokens"] = 8;
    cost["token"] = 9;
    expect((await sendRequest()).json()).toMatchObject({ cost: { requests: 1, tokens: 7 } });
  });

  test("a fixed cost by name must fit every tier, and a cost function must fit the request's tier", async () => {
    const tiers = byTier({ all: limits, one: requests }, ({ headers }: AnyRequest) =>
      headers["x-tier"] === "one" ? "one" : "all",
    );
    const code = "HEADGATE_INVALID_COST";
    await expect(serving({ limits: tiers, cost: { tokens: 5 } })).rejects.toMatchObject({ code });
    const site = await serving({ limits: tiers });
    const cost = costing({ tokens: 5 });
    expect((await site.sendRequest("/", cost)).status).toBe(200);
    const asked = await site.sendRequest("/", { headers: { ...cost.headers, "x-tier": "one" } });
    expect(asked.status).toBe(500);
    expect(site.errors).toMatchObject([{ code }]);
  });

  test("a request passes if every limit that it would be charged for lacks its key", async () => {
    const site = await serving({
      limits: [hourly("requests", 3, "user"), hourly("tokens", 9, "team")],
      key: {
        user: ({ headers }) => headers["x-user"] as string | undefined,
        team: () => "team",
      },
      missingKey: "skip",
      cost: { tokens: 0 },
    });
    const keyless = await site.sendRequest();
    expect(keyless.status).toBe(200);
    expect(keyless.headers["ratelimit"]).toBe('"tokens";r=9;t=0');
    const known = await site.sendRequest("/", { headers: { "x-user": "ann" } });
    expect(known.headers["ratelimit"]).toMatch(/^"requests";r=2;t=\d+$/);
  });
});

describe("cost by name with Fastify", () => {
  test("settling by name settles both limiters of a route that extends the plugin", async () => {
    const app = Fastify();
    await app.register(headgate, { name: "api", limits: requests, cost: { requests: 1 } });
    const own = { limits: tokens, extend: true, cost: { tokens: 500 } };
    app.get("/", { config: { rateLimit: own } }, async (request) => {
      const settled = await app.headgate.decisionOf(request)?.settle({ tokens: 731 });
      const again = await app.headgate.limiter.peek("127.0.0.1", { cost: 0 });
      return { ...settled, left: again.remaining };
    });
    const sendRequest = await start(app);
    expect((await sendRequest("/")).json()).toEqual({
      charged: { requests: 1, tokens: 731 },
      overflow: { requests: 0, tokens: 0 },
      degraded: false,
      left: 2,
    });
    const { headers } = await sendRequest("/");
    expect(headers).toMatchObject({
      "ratelimit-policy": '"requests";q=3;w=3600, "tokens";q=1000;w=3600',
    });
    // 500 is more than the 269 that are left.
    expect(headers["retry-after"]).toBeDefined();
  });

  test("a request without limits of its own charges the extended limiter the units named for it", async () => {
    const app = Fastify();
    await app.register(headgate, { name: "api", limits: requests });
    const cost = { tokens: 5, requests: 2 };
    const own = { limits: perFastifyRequest(tokens, () => null), extend: true, cost };
    app.get("/", { config: { rateLimit: own } }, async (request) => request.rateLimit?.cost);
    const free = { ...own, cost: { tokens: 5, requests: 0 } };
    app.get("/free", { config: { rateLimit: free } }, async (request) => ({
      asked: request.rateLimit !== undefined && request.rateLimit !== null,
    }));
    const sendRequest = await start(app);
    expect((await sendRequest("/")).json()).toEqual({ requests: 2 });
    expect((await sendRequest("/free")).json()).toEqual({ asked: true });
  });

  test.each([[[5]], [new Date(0)]])(
    "a cost function returning %j is an error in Fastify, too",
    async (cost) => {
      const app = Fastify();
      await app.register(headgate, { name: "api", limits: requests });
      const limits = perFastifyRequest(tokens, () => null);
      const own = { limits, extend: true, cost: () => cost as never };
      app.get("/", { config: { rateLimit: own } }, async () => "");
      const sendRequest = await start(app);
      expect((await sendRequest("/")).json()).toMatchObject({ code: "HEADGATE_INVALID_COST" });
    },
  );

  test("a route's cost by name is rejected when it is added if the plugin has lease", async () => {
    const app = Fastify();
    const lease = { max: 10, ttl: "1s" } as const;
    await app.register(headgate, { name: "api", limits: requests, lease });
    app.get("/", { config: { rateLimit: { cost: { requests: 2 } } } }, async () => "");
    await expect(app.ready()).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  });

  test("a route that inherits a cost for limits it does not have is rejected when it is added", async () => {
    const app = Fastify();
    await app.register(headgate, { name: "api", limits, cost: { tokens: 5 } });
    app.get("/", { config: { rateLimit: { limits: requests } } }, async () => "");
    await expect(app.ready()).rejects.toMatchObject({ code: "HEADGATE_INVALID_COST" });
  });
});
