import type { RouteRateLimitOptions } from "@headgate/fastify";
import headgate, { byHeader, byTier, gcra, memoryStore, perRequest } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { parseFields } from "../support/rate-limit-fields.ts";
import type { SendRequest } from "../support/send-request.ts";
import { start } from "./start-fastify.ts";

const ten = gcra({ limit: 10, window: "1h", name: "ten" });
const two = gcra({ limit: 2, window: "1h", name: "two" });

async function serving(search: RouteRateLimitOptions, plugin: object = {}): Promise<SendRequest> {
  const app = Fastify();
  app.register(headgate, { limits: ten, ...plugin });
  app.get("/", async () => "plain");
  app.get("/search", { config: { rateLimit: search } }, async () => "found");
  return start(app);
}

const left = async (sendRequest: SendRequest, path?: string) =>
  parseFields((await sendRequest(path)).headers["ratelimit"]).map(({ name, r }) => `${name} ${r}`);

test("extend decides the plugin's limits and the route's together", async () => {
  const sendRequest = await serving({ extend: true, limits: two });
  expect(await left(sendRequest, "/search")).toEqual(["ten 9", "two 1"]);
  expect(await left(sendRequest)).toEqual(["ten 8"]);
});

test("a denial by the route's limit charges nothing to the plugin's", async () => {
  const sendRequest = await serving({ extend: true, limits: two });
  for (let i = 0; i < 6; i++) await sendRequest("/search");
  expect((await sendRequest("/search")).json()).toMatchObject({ "violated-policies": ["two"] });
  expect(await left(sendRequest)).toEqual(["ten 7"]);
});

test("a denial by the plugin's limit charges nothing to the route's", async () => {
  const sendRequest = await serving({
    extend: true,
    limits: gcra({ limit: 20, window: "1h", name: "own" }),
  });
  await sendRequest("/search");
  for (let i = 0; i < 9; i++) await sendRequest();
  const denied = await sendRequest("/search");
  expect(denied.json()).toMatchObject({ "violated-policies": ["ten"] });
  expect(denied.headers["ratelimit"]).toMatch(/"own";r=19/);
});

test("a route's cost applies to all of its limits", async () => {
  const sendRequest = await serving({ extend: true, limits: two, cost: 2 });
  expect(await left(sendRequest, "/search")).toEqual(["ten 8", "two 0"]);
});

test("extend reads the dimensions of both", async () => {
  const perUser = gcra({ limit: 2, window: "1h", per: "user", name: "user" });
  const sendRequest = await serving(
    { extend: true, limits: perUser, key: { user: byHeader("x-user") } },
    { limits: gcra({ limit: 10, window: "1h", per: "ip", name: "ip" }) },
  );
  const as = (user: string) => sendRequest("/search", { headers: { "x-user": user } });
  await as("ann");
  expect((await as("bob")).headers["ratelimit"]).toMatch(/^"ip";r=8;.*"user";r=1;/);
});

test("in nested scopes, extend uses the inner plugin", async () => {
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
])("extend with %s fails the boot", async (_, search, plugin) => {
  await expect(serving(search, plugin)).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
});

test.each(["yes", 1, null])("extend: %j fails the boot", async (extend) => {
  await expect(serving({ extend: extend as never, limits: two })).rejects.toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
  });
});

const planned = (search: RouteRateLimitOptions["limits"], plugin: object = {}) =>
  serving({ extend: true, limits: search }, plugin);

const under = (plan: string) => ({ headers: { "x-plan": plan } });

test("a route with perRequest can extend the plugin", async () => {
  const limits = perRequest(two, ({ headers }) =>
    gcra({ limit: Number(headers["x-plan"]), window: "1h" }),
  );
  const sendRequest = await planned(limits);
  for (let i = 0; i < 2; i += 1) await sendRequest("/search", under("2"));
  expect((await sendRequest("/search", under("2"))).status).toBe(429);
  const upgraded = await sendRequest("/search", under("5"));
  expect(upgraded.headers).toMatchObject({
    "ratelimit-policy": '"ten";q=10;w=3600, "two";q=5;w=3600',
    ratelimit: expect.stringMatching(/^"ten";r=7;t=\d+, "two";r=2;t=\d+$/),
  });
});

test.each([
  ["perRequest", perRequest(two, () => null)],
  ["byTier", byTier({ some: two, none: null }, () => "none")],
])(
  "with extend, a request without limits on the route is limited by the plugin, by %s",
  async (_, limits) => {
    const sendRequest = await planned(limits);
    for (let i = 9; i >= 0; i -= 1)
      expect(await left(sendRequest, "/search")).toEqual([`ten ${i}`]);
    expect((await sendRequest("/search")).status).toBe(429);
    expect((await sendRequest("/")).status).toBe(429);
  },
);

test("a plugin with perRequest cannot be extended", async () => {
  await expect(planned(two, { limits: perRequest(ten, () => null) })).rejects.toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
    message: expect.stringContaining("extend needs a plugin"),
  });
});

test("without extend, a route's limits replace the plugin's", async () => {
  const sendRequest = await serving({
    limits: perRequest(two, ({ headers }) => (headers["x-plan"] === "staff" ? null : two)),
  });
  expect(await left(sendRequest, "/search")).toEqual(["two 1"]);
  for (let i = 0; i < 20; i += 1) {
    const staff = await sendRequest("/search", under("staff"));
    expect(staff.status).toBe(200);
    expect(staff.headers["ratelimit"]).toBeUndefined();
  }
  expect(await left(sendRequest)).toEqual(["ten 9"]);
});

test("decisionOf names the limiter that was called", async () => {
  const app = Fastify();
  app.register(headgate, { name: "site", store: memoryStore(), limits: ten });
  const limits = perRequest(two, ({ headers }) => (headers["x-plan"] === "staff" ? null : two));
  app.get(
    "/",
    { config: { rateLimit: { extend: true, name: "own", limits } } },
    async (request) => app.headgate.decisionOf(request)?.limiter.name,
  );
  const sendRequest = await start(app);
  expect((await sendRequest("/", under("staff"))).text).toBe("site");
  expect((await sendRequest("/", under("free"))).text).toBe("own");
});
