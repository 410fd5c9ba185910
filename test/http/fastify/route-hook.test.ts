import headgate, { createLimiter, gcra } from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

const ten = gcra({ limit: 10, window: "1h", name: "ten" });
const two = gcra({ limit: 2, window: "1h", name: "two" });

async function withPlugin(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(headgate, { limits: ten });
  return app;
}

test.each(["onRequest", "preParsing", "preValidation", "preHandler"] as const)(
  "app.rateLimit() as %s makes another decision, after the global one",
  async (hook) => {
    const app = await withPlugin();
    const limited = app.rateLimit({ name: "export", limits: two });
    app.post("/export", { [hook]: limited }, async ({ body }) => ({ body: body ?? null }));
    const sendRequest = await start(app);
    const headers = { "content-type": "application/json" };
    const payload = { a: 1 };
    const first = await app.inject({ method: "POST", url: "/export", headers, payload });
    expect(first.json()).toEqual({ body: payload });
    expect(first.headers["ratelimit"]).toMatch(/^"ten";r=9;.*, "two";r=1;/);
    expect((await sendRequest("/export", { method: "POST" })).status).toBe(200);
    const denied = await sendRequest("/export", { method: "POST" });
    expect(denied.status).toBe(429);
    expect(denied.json()).toMatchObject({ "violated-policies": ["two"] });
    expect(denied.headers["ratelimit"]).toMatch(/^"ten";r=7;/);
  },
);

test("one hook on two routes has one counter, and two hooks have two", async () => {
  const app = await withPlugin();
  const shared = app.rateLimit({ name: "shared", limits: two });
  app.get("/a", { preHandler: shared }, async () => "a");
  app.get("/b", { preHandler: shared }, async () => "b");
  app.get("/c", { preHandler: app.rateLimit({ name: "own", limits: two }) }, async () => "c");
  const sendRequest = await start(app);
  await sendRequest("/a");
  await sendRequest("/b");
  expect((await sendRequest("/a")).status).toBe(429);
  expect((await sendRequest("/c")).status).toBe(200);
});

test("hooks in an array run in order", async () => {
  const app = await withPlugin();
  const preHandler = [
    app.rateLimit({ name: "a", limits: gcra({ limit: 5, window: "1h", name: "a" }) }),
    app.rateLimit({ name: "b", limits: gcra({ limit: 4, window: "1h", name: "b" }) }),
  ];
  app.get("/", { preHandler }, async ({ rateLimit }) => rateLimit);
  const response = await (await start(app))();
  expect(response.headers["ratelimit"]).toMatch(/^"ten";r=9;.*, "a";r=4;.*, "b";r=3;/);
  expect(response.json()).toMatchObject({ limit: 4, remaining: 3 });
});

test("app.rateLimit() can be a hook of a scope", async () => {
  const app = await withPlugin();
  app.register(async (scope) => {
    scope.addHook("preHandler", app.rateLimit({ name: "scope", limits: two }));
    scope.get("/inside", async () => "in");
  });
  app.get("/outside", async () => "out");
  const sendRequest = await start(app);
  for (const status of [200, 200, 429]) expect((await sendRequest("/inside")).status).toBe(status);
  expect((await sendRequest("/outside")).headers["ratelimit"]).not.toContain("two");
});

test("app.rateLimit() is the only limit on a route with rateLimit: false", async () => {
  const app = await withPlugin();
  const preHandler = app.rateLimit({ name: "only", limits: two });
  app.get("/", { config: { rateLimit: false }, preHandler }, async () => "ok");
  expect((await (await start(app))()).headers["ratelimit"]).toMatch(/^"two";r=1;[^"]*$/);
});

test("without options app.rateLimit() uses the plugin's limiter, which counts a request once", async () => {
  const app = await withPlugin();
  app.get("/", { preHandler: app.rateLimit() }, async () => "ok");
  app.get("/only", { config: { rateLimit: false }, preHandler: app.rateLimit() }, async () => "ok");
  const sendRequest = await start(app);
  expect((await sendRequest()).headers["ratelimit"]).toMatch(/^"ten";r=9;[^"]*$/);
  expect((await sendRequest("/only")).headers["ratelimit"]).toMatch(/^"ten";r=8;[^"]*$/);
});

test("app.rateLimit() inherits options, and accepts a limiter", async () => {
  const app = Fastify();
  await app.register(headgate, { limits: ten, key: () => "all", headers: { legacy: false } });
  const limiter = createLimiter({ limits: two });
  app.get("/", { preHandler: app.rateLimit({ limiter }) }, async () => "ok");
  const { headers } = await (await start(app))();
  expect(headers).not.toHaveProperty("x-ratelimit-limit");
  expect(await limiter.peek("all")).toMatchObject({ remaining: 0 });
});

test("app.rateLimit() validates its limits, and requires a name with a store", async () => {
  const app = await withPlugin();
  for (const options of [
    { limits: gcra({ limit: -1, window: "1h" }), name: "a" },
    { limits: two, name: "a", max: 5 },
    { limits: gcra({ limit: 1, window: "1h", per: "tenant" }), name: "a" },
    { limits: two },
  ]) {
    expect(() => app.rateLimit(options as never)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^HEADGATE_INVALID_/) }),
    );
  }
  await app.close();
});

test("app.rateLimit() for each request is rejected, because its hooks are kept forever", async () => {
  const app = await withPlugin();
  const own = { name: "own", limits: two };
  app.get("/", { preHandler: (...args) => app.rateLimit(own)(...args) }, async () => "ok");
  app.get("/shared", { preHandler: (...args) => app.rateLimit()(...args) }, async () => "ok");
  const sendRequest = await start(app);
  const refused = await sendRequest();
  expect([refused.status, refused.json()]).toMatchObject([
    500,
    { code: "HEADGATE_INVALID_OPTION" },
  ]);
  expect(refused.text).toContain("no more routes can be added");
  // That of the plugin is there already.
  expect((await sendRequest("/shared")).status).toBe(200);
});
