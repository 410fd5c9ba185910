import headgate, { gcra } from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

const wide = gcra({ limit: 9, window: "1h", name: "wide" });
const narrow = gcra({ limit: 2, window: "1h", name: "narrow" });

function addRoutes(app: FastifyInstance, prefix: string): void {
  app.get(`${prefix}/plain`, async () => "plain");
  app.get(
    `${prefix}/narrow`,
    { config: { rateLimit: { limits: narrow } } },
    async (request) => request.rateLimit,
  );
  app.get(`${prefix}/free`, { config: { rateLimit: false } }, async () => "free");
}

/** Where routes can stand, relative to the registration. */
const places: { place: string; build(app: FastifyInstance, register: () => void): void }[] = [
  {
    place: "after it",
    build(app, register) {
      register();
      addRoutes(app, "");
    },
  },
  {
    place: "before it",
    build(app, register) {
      addRoutes(app, "");
      register();
    },
  },
  {
    place: "in a scope after it",
    build(app, register) {
      register();
      app.register(async (scope) => addRoutes(scope, ""));
    },
  },
  {
    place: "in a scope before it",
    build(app, register) {
      app.register(async (scope) => addRoutes(scope, ""));
      register();
    },
  },
  {
    place: "in a scope inside a scope before it, that loads slowly",
    build(app, register) {
      app.register(async (scope) => {
        await scope.register(async (inner) => {
          await new Promise(setImmediate);
          addRoutes(inner, "");
        });
      });
      register();
    },
  },
  {
    place: "in an after() callback",
    build(app, register) {
      register();
      app.after(() => addRoutes(app, ""));
    },
  },
];

test.each(places)(
  "routes $place have their limits if the registration is not awaited",
  async ({ build }) => {
    const app = Fastify();
    build(app, () => void app.register(headgate, { limits: wide }));
    const sendRequest = await start(app);
    expect((await sendRequest("/plain")).headers["ratelimit"]).toMatch(/^"wide";r=8;/);
    expect((await sendRequest("/narrow")).headers["ratelimit"]).toMatch(/^"narrow";r=1;/);
    expect((await sendRequest("/narrow")).status).toBe(200);
    expect((await sendRequest("/narrow")).status).toBe(429);
    expect((await sendRequest("/free")).headers).not.toHaveProperty("ratelimit");
    expect((await sendRequest("/plain")).headers["ratelimit"]).toMatch(/^"wide";r=7;/);
  },
);

test("routes before and after have their limits if the registration is awaited", async () => {
  const app = Fastify();
  addRoutes(app, "/before");
  app.register(async (scope) => addRoutes(scope, "/scope"));
  await app.register(headgate, { limits: wide });
  addRoutes(app, "/after");
  const sendRequest = await start(app);
  for (const prefix of ["/before", "/scope", "/after"]) {
    expect((await sendRequest(`${prefix}/plain`)).headers["ratelimit"]).toMatch(/^"wide"/);
    for (const status of [200, 200, 429]) {
      expect((await sendRequest(`${prefix}/narrow`)).status).toBe(status);
    }
    expect((await sendRequest(`${prefix}/free`)).headers).not.toHaveProperty("ratelimit");
  }
});

test("a plugin registered in a scope limits only that scope", async () => {
  const app = Fastify();
  app.register(async (scope) => {
    scope.get("/inside/before", async () => "in");
    await scope.register(headgate, { limits: narrow });
    scope.get("/inside/after", async () => "in");
  });
  app.get("/outside", { config: { rateLimit: false } }, async () => "out");
  const sendRequest = await start(app);
  expect((await sendRequest("/inside/before")).headers["ratelimit"]).toMatch(/r=1/);
  expect((await sendRequest("/inside/after")).headers["ratelimit"]).toMatch(/r=0/);
  expect((await sendRequest("/outside")).headers).not.toHaveProperty("ratelimit");
});

test("app.headgate is the limiter that counts requests", async () => {
  const app = Fastify();
  await app.register(headgate, { limits: narrow });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  for (const status of [200, 200, 429]) expect((await sendRequest()).status).toBe(status);
  await app.headgate.limiter.reset("127.0.0.1");
  expect((await sendRequest()).status).toBe(200);
});

test("request.rateLimit is null before the decision, and the decision after it", async () => {
  const seen: unknown[] = [];
  const app = Fastify();
  app.addHook("onRequest", async ({ rateLimit }) => {
    seen.push(rateLimit);
  });
  await app.register(headgate, { limits: narrow });
  app.get("/", async ({ rateLimit }) => rateLimit);
  const sendRequest = await start(app);
  expect((await sendRequest()).json()).toMatchObject({ allowed: true, limit: 2, remaining: 1 });
  expect(seen).toEqual([null]);
});
