import headgate, { gcra, memoryStore } from "@headgate/fastify";
import type { FastifyRequest } from "fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

const outer = gcra({ limit: 9, window: "1h", name: "outer" });
const inner = gcra({ limit: 8, window: "1h", name: "inner" });
const own = gcra({ limit: 2, window: "1h", name: "own" });

test("a plugin at the root and one in a scope both count requests of the scope", async () => {
  const app = Fastify();
  app.register(headgate, { limits: outer });
  app.get("/", async () => "out");
  app.register(async (scope) => {
    scope.register(headgate, { limits: inner });
    scope.get("/inside", async ({ rateLimit }) => rateLimit);
  });
  const sendRequest = await start(app);
  expect((await sendRequest("/inside")).headers["ratelimit"]).toMatch(
    /^"outer";r=8;.*, "inner";r=7;/,
  );
  expect((await sendRequest("/")).headers["ratelimit"]).toMatch(/^"outer";r=7;[^"]*$/);
});

test("the inner plugin reads a route's config, and the outer one still counts", async () => {
  const app = Fastify();
  app.register(headgate, { limits: outer });
  app.register(async (scope) => {
    scope.register(headgate, { limits: inner });
    scope.get("/own", { config: { rateLimit: { limits: own } } }, async () => "own");
    scope.get("/dear", { config: { rateLimit: { cost: 3 } } }, async () => "dear");
    scope.get("/free", { config: { rateLimit: false } }, async () => "free");
  });
  const sendRequest = await start(app);
  expect((await sendRequest("/own")).headers["ratelimit"]).toMatch(/^"outer";r=8;.*, "own";r=1;/);
  expect((await sendRequest("/dear")).headers["ratelimit"]).toMatch(
    /^"outer";r=7;.*, "inner";r=5;/,
  );
  expect((await sendRequest("/free")).headers).not.toHaveProperty("ratelimit");
});

test("the inner plugin reads a route's config even if the route was added first", async () => {
  const app = Fastify();
  app.register(async (scope) => {
    scope.get("/own", { config: { rateLimit: { limits: own } } }, async () => "own");
    scope.register(headgate, { limits: inner });
  });
  app.register(headgate, { limits: outer });
  const sendRequest = await start(app);
  const limits = (await sendRequest("/own")).headers["ratelimit"]?.match(/"\w+";r=\d/g);
  expect(limits?.sort()).toEqual(['"outer";r=8', '"own";r=1']);
});

test("sibling scopes have separate counters", async () => {
  const app = Fastify();
  for (const prefix of ["/a", "/b"]) {
    app.register(
      async (scope) => {
        scope.register(headgate, { limits: own });
        scope.get("/", async () => prefix);
      },
      { prefix },
    );
  }
  const sendRequest = await start(app);
  for (const status of [200, 200, 429]) expect((await sendRequest("/a")).status).toBe(status);
  expect((await sendRequest("/b")).status).toBe(200);
});

test("scopes with the same limiter share its counter, and count a request once", async () => {
  const store = memoryStore();
  const shared = { name: "shared", limits: own, store };
  const app = Fastify();
  app.register(headgate, shared);
  app.get("/", async () => "out");
  app.register(async (scope) => {
    scope.register(headgate, shared);
    scope.get("/inside", async () => "in");
  });
  const sendRequest = await start(app);
  expect((await sendRequest("/inside")).headers["ratelimit"]).toMatch(/^"own";r=1;[^"]*$/);
  expect((await sendRequest("/")).headers["ratelimit"]).toMatch(/^"own";r=0;/);
  expect((await sendRequest("/inside")).status).toBe(429);
});

test("two plugins in one scope both count, and the first reads the routes' config", async () => {
  const app = Fastify();
  app.register(headgate, { limits: outer });
  app.register(headgate, { limits: inner });
  app.get("/", async () => "ok");
  app.get("/own", { config: { rateLimit: { limits: own } } }, async () => "own");
  app.get("/free", { config: { rateLimit: false } }, async () => "free");
  const sendRequest = await start(app);
  expect((await sendRequest("/")).headers["ratelimit"]).toMatch(/^"outer";r=8;.*, "inner";r=7;/);
  expect((await sendRequest("/own")).headers["ratelimit"]).toMatch(/^"own";r=1;.*, "inner";r=6;/);
  expect((await sendRequest("/free")).headers).not.toHaveProperty("ratelimit");
});

test("a prefix is part of a route's name, so equal routes with other prefixes have separate counters", async () => {
  const app = Fastify();
  app.register(headgate, { limits: outer });
  for (const prefix of ["/v1", "/v2"]) {
    app.register(
      async (scope) => {
        scope.get("/things", { config: { rateLimit: { limits: own } } }, async () => prefix);
      },
      { prefix },
    );
  }
  const sendRequest = await start(app);
  for (const status of [200, 200, 429])
    expect((await sendRequest("/v1/things")).status).toBe(status);
  expect((await sendRequest("/v2/things")).status).toBe(200);
});

test("a route that extends a limiter already called counts only its own limits", async () => {
  const shared = { name: "shared", limits: outer, store: memoryStore() };
  const app = Fastify();
  app.register(headgate, shared);
  app.register(async (scope) => {
    scope.register(headgate, shared);
    const config = { rateLimit: { extend: true, limits: own } };
    scope.get("/", { config }, async () => "ok");
  });
  const sendRequest = await start(app);
  expect((await sendRequest()).headers["ratelimit"]).toMatch(
    /^"outer";r=8;[^"]*, "own";r=1;[^"]*$/,
  );
  expect((await sendRequest()).headers["ratelimit"]).toMatch(
    /^"outer";r=7;[^"]*, "own";r=0;[^"]*$/,
  );
  expect((await sendRequest()).json()).toMatchObject({ "violated-policies": ["own"] });
});

test("request.rateLimit is null for a request without a limit, even in a scope from before the plugin", async () => {
  const app = Fastify();
  const seen: unknown[] = [];
  const handler = async ({ rateLimit }: FastifyRequest) => {
    seen.push(rateLimit);
  };
  app.register(async (scope) => {
    scope.get("/early", { config: { rateLimit: false } }, handler);
  });
  app.register(headgate, { limits: outer });
  app.register(async (scope) => {
    scope.get("/late", { config: { rateLimit: false } }, handler);
  });
  const sendRequest = await start(app);
  await sendRequest("/early");
  await sendRequest("/late");
  expect(seen).toEqual([null, null]);
});
