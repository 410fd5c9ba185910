import type { RouteRateLimitOptions } from "@headgate/fastify";
import headgate, { byHeader, byTier, gcra, memoryStore, perRequest } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import type { Ask } from "../support/ask.ts";
import { parseFields } from "../support/rate-limit-fields.ts";
import { start } from "./start.ts";

const ten = gcra({ limit: 10, window: "1h", name: "ten" });
const two = gcra({ limit: 2, window: "1h", name: "two" });

async function serving(search: RouteRateLimitOptions, plugin: object = {}): Promise<Ask> {
  const app = Fastify();
  app.register(headgate, { limits: ten, ...plugin });
  app.get("/", async () => "plain");
  app.get("/search", { config: { rateLimit: search } }, async () => "found");
  return start(app);
}

const left = async (ask: Ask, path?: string) =>
  parseFields((await ask(path)).headers["ratelimit"]).map(({ name, r }) => `${name} ${r}`);

test("the plugin's limits and the route's are decided together", async () => {
  const ask = await serving({ extend: true, limits: two });
  expect(await left(ask, "/search")).toEqual(["ten 9", "two 1"]);
  expect(await left(ask)).toEqual(["ten 8"]);
});

test("all or nothing: what the route's limit denies is not charged to the plugin's", async () => {
  const ask = await serving({ extend: true, limits: two });
  for (let i = 0; i < 6; i++) await ask("/search");
  expect((await ask("/search")).json()).toMatchObject({ "violated-policies": ["two"] });
  expect(await left(ask)).toEqual(["ten 7"]);
});

test("and what the plugin's limit denies is not charged to the route's", async () => {
  const ask = await serving({
    extend: true,
    limits: gcra({ limit: 20, window: "1h", name: "own" }),
  });
  await ask("/search");
  for (let i = 0; i < 9; i++) await ask();
  const denied = await ask("/search");
  expect(denied.json()).toMatchObject({ "violated-policies": ["ten"] });
  expect(denied.headers["ratelimit"]).toMatch(/"own";r=19/);
});

test("a route's own cost is that of all its limits", async () => {
  const ask = await serving({ extend: true, limits: two, cost: 2 });
  expect(await left(ask, "/search")).toEqual(["ten 8", "two 0"]);
});

test("dimensions of both are read", async () => {
  const perUser = gcra({ limit: 2, window: "1h", per: "user", name: "user" });
  const ask = await serving(
    { extend: true, limits: perUser, key: { user: byHeader("x-user") } },
    { limits: gcra({ limit: 10, window: "1h", per: "ip", name: "ip" }) },
  );
  const as = (user: string) => ask("/search", { headers: { "x-user": user } });
  await as("ann");
  expect((await as("bob")).headers["ratelimit"]).toMatch(/^"ip";r=8;.*"user";r=1;/);
});

test("in one scope inside another, the plugin's limits are those of the inner one", async () => {
  const app = Fastify();
  app.register(headgate, { limits: ten });
  app.register(async (scope) => {
    scope.register(headgate, { limits: gcra({ limit: 5, window: "1h", name: "five" }) });
    const config = { rateLimit: { extend: true, limits: two } };
    scope.get("/search", { config }, async () => "found");
  });
  expect(await left(await start(app), "/search")).toEqual(["ten 9", "five 4", "two 1"]);
});

test.each<[string, RouteRateLimitOptions, object]>([
  ["another store", { extend: true, limits: two, name: "s", store: memoryStore() }, {}],
  ["no limits", { extend: true }, {}],
  ["limits that are the plugin's own", { extend: true, limits: ten, name: "limiter" }, {}],
])("extend with %s is an error at boot", async (_, search, plugin) => {
  await expect(serving(search, plugin)).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
});

test.each(["yes", 1, null])("extend: %j is an error at boot", async (extend) => {
  await expect(serving({ extend: extend as never, limits: two })).rejects.toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
  });
});

const planned = (search: RouteRateLimitOptions["limits"], plugin: object = {}) =>
  serving({ extend: true, limits: search }, plugin);

const under = (plan: string) => ({ headers: { "x-plan": plan } });

test("a route's limits may be those of the request, beside the plugin's", async () => {
  const limits = perRequest(two, ({ headers }) =>
    gcra({ limit: Number(headers["x-plan"]), window: "1h" }),
  );
  const ask = await planned(limits);
  for (let i = 0; i < 2; i += 1) await ask("/search", under("2"));
  expect((await ask("/search", under("2"))).status).toBe(429);
  const upgraded = await ask("/search", under("5"));
  expect(upgraded.headers).toMatchObject({
    "ratelimit-policy": '"ten";q=10;w=3600, "two";q=5;w=3600',
    ratelimit: expect.stringMatching(/^"ten";r=7;t=\d+, "two";r=2;t=\d+$/),
  });
});

test.each([
  ["perRequest", perRequest(two, () => null)],
  ["byTier", byTier({ some: two, none: null }, () => "none")],
])(
  "a request without limits on the route is still under the plugin's, by %s",
  async (_, limits) => {
    const ask = await planned(limits);
    for (let i = 9; i >= 0; i -= 1) expect(await left(ask, "/search")).toEqual([`ten ${i}`]);
    expect((await ask("/search")).status).toBe(429);
    expect((await ask("/")).status).toBe(429);
  },
);

test("a plugin whose limits are those of the request is not extended", async () => {
  await expect(planned(two, { limits: perRequest(ten, () => null) })).rejects.toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
    message: expect.stringContaining("extend needs a plugin"),
  });
});

test("without extend they stand in place of the plugin's", async () => {
  const ask = await serving({
    limits: perRequest(two, ({ headers }) => (headers["x-plan"] === "staff" ? null : two)),
  });
  expect(await left(ask, "/search")).toEqual(["two 1"]);
  for (let i = 0; i < 20; i += 1) {
    const staff = await ask("/search", under("staff"));
    expect(staff.status).toBe(200);
    expect(staff.headers["ratelimit"]).toBeUndefined();
  }
  expect(await left(ask)).toEqual(["ten 9"]);
});

test("of(request) names the limiter that was asked", async () => {
  const app = Fastify();
  app.register(headgate, { name: "site", store: memoryStore(), limits: ten });
  const limits = perRequest(two, ({ headers }) => (headers["x-plan"] === "staff" ? null : two));
  app.get(
    "/",
    { config: { rateLimit: { extend: true, name: "own", limits } } },
    async (request) => app.headgate.decisionOf(request)?.limiter.name,
  );
  const ask = await start(app);
  expect((await ask("/", under("staff"))).text).toBe("site");
  expect((await ask("/", under("free"))).text).toBe("own");
});
