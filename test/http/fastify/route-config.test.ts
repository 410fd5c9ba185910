import type { RouteRateLimitOptions } from "@headgate/fastify";
import headgate, { byHeader, byTier, createLimiter, gcra, memoryStore } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import type { SendRequest } from "../support/send-request.ts";
import { start } from "./start-fastify.ts";

const ten = gcra({ limit: 10, window: "1h", name: "ten" });
const two = gcra({ limit: 2, window: "1h", name: "two" });

/** An application with the plugin's limit, and routes with these configs. */
async function serving(
  configs: Record<string, RouteRateLimitOptions | false>,
  plugin: object = {},
): Promise<SendRequest> {
  const app = Fastify();
  app.register(headgate, { limits: ten, ...plugin });
  app.get("/", async () => "plain");
  for (const [path, rateLimit] of Object.entries(configs)) {
    app.get(path, { config: { rateLimit } }, async (request) => ({ left: request.rateLimit }));
  }
  return start(app);
}

test("rateLimit: false removes the limit of one route only", async () => {
  const sendRequest = await serving({ "/health": false });
  for (let i = 0; i < 12; i++) expect((await sendRequest("/health")).status).toBe(200);
  expect((await sendRequest("/health")).json()).toEqual({ left: null });
  expect((await sendRequest()).headers["ratelimit"]).toMatch(/r=9/);
});

test("cost sets the units that a call of the route charges to the plugin's limiter", async () => {
  const sendRequest = await serving({ "/report": { cost: 5 } });
  await sendRequest();
  expect((await sendRequest("/report")).headers["ratelimit"]).toMatch(/^"ten";r=4;/);
  expect((await sendRequest("/report")).status).toBe(429);
  expect((await sendRequest()).headers["ratelimit"]).toMatch(/r=3/);
});

test("a route's limits replace the plugin's", async () => {
  const sendRequest = await serving({ "/search": { limits: two } });
  for (const status of [200, 200, 429]) expect((await sendRequest("/search")).status).toBe(status);
  expect((await sendRequest()).headers["ratelimit"]).toMatch(/^"ten";r=9;[^"]*$/);
});

test("each route with limits has its own counter, even if the limits are equal", async () => {
  const sendRequest = await serving({ "/a": { limits: two }, "/b": { limits: two } });
  for (const status of [200, 200, 429]) expect((await sendRequest("/a")).status).toBe(status);
  expect((await sendRequest("/b")).status).toBe(200);
});

test("a route with a parameter has one counter for all values", async () => {
  const sendRequest = await serving({ "/users/:id": { limits: two } });
  const statuses: number[] = [];
  for (const id of ["1", "2", "3?x=1"]) statuses.push((await sendRequest(`/users/${id}`)).status);
  expect(statuses).toEqual([200, 200, 429]);
});

test("a route uses the plugin's allowList and denyList, unless it has its own", async () => {
  const here = ["127.0.0.1"];
  const sendRequest = await serving(
    {
      "/blocked": { denyList: here },
      "/limited": { limits: two, allowList: [] },
      "/free": { limits: two },
      "/off": false,
    },
    { allowList: here },
  );
  expect((await sendRequest("/blocked")).status).toBe(403);
  for (const status of [200, 200, 429]) expect((await sendRequest("/limited")).status).toBe(status);
  for (const path of ["/free", "/free", "/free", "/off", "/"]) {
    expect((await sendRequest(path)).headers["ratelimit"]).toBeUndefined();
  }
});

test("the plugin's denyList does not apply to a route without a limit", async () => {
  const sendRequest = await serving({ "/off": false, "/mine": {} }, { denyList: ["127.0.0.1"] });
  for (const [path, status] of [
    ["/", 403],
    ["/mine", 403],
    ["/nowhere", 403],
    ["/off", 200],
  ]) {
    expect((await sendRequest(path as string)).status).toBe(status);
  }
});

test.each([["127.0.0.1/33"], ["localhost"]])("a list with %s fails the boot", async (entry) => {
  await expect(serving({ "/x": { denyList: [entry] } })).rejects.toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
    message: expect.stringMatching(`^headgate on .*/x: denyList must be .*"${entry}"`),
  });
});

test("routes with the same name share one counter", async () => {
  const login = { name: "login", limits: two };
  const sendRequest = await serving({ "/web": login, "/app": login });
  const statuses: number[] = [];
  for (const path of ["/web", "/app", "/web"]) statuses.push((await sendRequest(path)).status);
  expect(statuses).toEqual([200, 200, 429]);
});

test("a route inherits key, missingKey, skip, cost, headers and onDenied", async () => {
  const sendRequest = await serving(
    { "/search": { limits: two }, "/keyed": { limits: two, key: () => "all", cost: 1 } },
    {
      key: byHeader("x-user"),
      missingKey: "reject",
      cost: 2,
      skip: ({ headers }: { headers: Record<string, unknown> }) => "x-skip" in headers,
      headers: { standard: false },
      onDenied: (_: unknown, reply: { send(body: string): void }) => reply.send("mine"),
    },
  );
  const headers = { "x-user": "ann" };
  expect((await sendRequest("/search")).status).toBe(400);
  const first = await sendRequest("/search", { headers });
  expect(first.headers["x-ratelimit-remaining"]).toBe("0");
  expect(first.headers).not.toHaveProperty("ratelimit");
  expect((await sendRequest("/search", { headers })).text).toBe("mine");
  expect((await sendRequest("/search", { headers: { "x-skip": "1" } })).status).toBe(200);
  expect((await sendRequest("/search", { headers: { "x-user": "bob" } })).status).toBe(200);
  for (const status of [200, 200, 429]) expect((await sendRequest("/keyed")).status).toBe(status);
});

test("an undefined option of a route is inherited", async () => {
  const sendRequest = await serving({ "/search": { limits: two, cost: undefined } }, { cost: 2 });
  expect((await sendRequest("/search")).headers["ratelimit"]).toMatch(/r=0/);
});

test("a route's limiter replaces the plugin's", async () => {
  const limiter = createLimiter({ limits: two });
  const sendRequest = await serving({ "/search": { limiter } });
  await sendRequest("/search");
  expect(await limiter.consume("127.0.0.1")).toMatchObject({ allowed: true, remaining: 0 });
  expect((await sendRequest("/search")).status).toBe(429);
});

test("a route's limits may depend on the tier, and each tier has its own counter", async () => {
  const tiers = { free: two, premium: ten };
  const sendRequest = await serving(
    { "/a": { limits: byTier(tiers, ({ headers }) => headers["x-plan"] as "free" | "premium") } },
    { key: byHeader("x-user") },
  );
  const as = (plan: string) => sendRequest("/a", { headers: { "x-user": "ann", "x-plan": plan } });
  for (const status of [200, 200, 429]) expect((await as("free")).status).toBe(status);
  expect((await as("premium")).headers["ratelimit"]).toMatch(/r=9/);
  expect((await as("gold")).status).toBe(500);
});

test("a plugin with tiers allows routes with their own limits", async () => {
  const limits = byTier({ free: ten }, () => "free");
  const sendRequest = await serving({ "/a": { limits: two }, "/dear": { cost: 4 } }, { limits });
  expect((await sendRequest("/a")).headers["ratelimit"]).toMatch(/^"two"/);
  expect((await sendRequest("/dear")).headers["ratelimit"]).toMatch(/^"ten";r=6/);
});

test("routes use the plugin's store", async () => {
  const store = memoryStore();
  const name = "GET-route";
  const first = await serving({ "/a": { limits: two } }, { name, store });
  const second = await serving({ "/a": { limits: two } }, { name, store });
  await first("/a");
  expect((await second("/a")).headers["ratelimit"]).toMatch(/r=0/);
  expect((await first("/a")).status).toBe(429);
});

test("a plugin with a limiter counts with it, and its routes use its store", async () => {
  const limiter = createLimiter({ name: "mine", limits: ten, store: memoryStore() });
  const sendRequest = await serving(
    { "/a": { limits: two }, "/dear": { cost: 3 } },
    { limiter, limits: undefined },
  );
  expect((await sendRequest("/a")).headers["ratelimit"]).toMatch(/^"two";r=1/);
  expect((await sendRequest("/dear")).headers["ratelimit"]).toMatch(/^"ten";r=7/);
  expect(await limiter.peek("127.0.0.1")).toMatchObject({ remaining: 6 });
});
