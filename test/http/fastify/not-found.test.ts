import headgate, { gcra } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

const two = gcra({ limit: 2, window: "1h", name: "two" });

test("requests without a route are counted and denied", async () => {
  const app = Fastify();
  app.register(headgate, { limits: two });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  expect((await sendRequest("/a")).status).toBe(404);
  expect((await sendRequest("/b", { method: "POST" })).status).toBe(404);
  expect((await sendRequest("/c")).status).toBe(429);
  expect((await sendRequest("/")).status).toBe(429);
});

test.each(["before", "after"])(
  "requests without a route are counted if setNotFoundHandler is called %s the plugin",
  async (when) => {
    const app = Fastify();
    const set = () =>
      app.setNotFoundHandler(async (request, reply) => reply.code(404).send(request.rateLimit));
    if (when === "before") set();
    app.register(headgate, { limits: two });
    if (when === "after") set();
    const sendRequest = await start(app);
    const missing = await sendRequest("/a");
    expect(missing.status).toBe(404);
    expect(missing.json()).toMatchObject({ limit: 2, remaining: 1 });
    await sendRequest("/b");
    expect((await sendRequest("/c")).status).toBe(429);
  },
);

test("setNotFoundHandler takes its own limit as a hook, after the global one", async () => {
  const app = Fastify();
  await app.register(headgate, { limits: gcra({ limit: 9, window: "1h", name: "nine" }) });
  const preHandler = app.rateLimit({ name: "not found", limits: two });
  app.setNotFoundHandler({ preHandler }, async (_request, reply) => reply.code(404).send("none"));
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  expect((await sendRequest("/a")).headers["ratelimit"]).toMatch(/^"nine";r=8;.*"two";r=1;/);
  expect((await sendRequest("/b")).status).toBe(404);
  expect((await sendRequest("/c")).status).toBe(429);
  expect((await sendRequest("/")).status).toBe(200);
});

test("the not-found handler of a scope is counted by the scope's limiter, too", async () => {
  const app = Fastify();
  app.register(headgate, { limits: gcra({ limit: 9, window: "1h", name: "nine" }) });
  app.register(
    async (scope) => {
      await scope.register(headgate, { limits: two });
      scope.setNotFoundHandler(async (_request, reply) => reply.code(404).send("none here"));
    },
    { prefix: "/inner" },
  );
  const sendRequest = await start(app);
  expect((await sendRequest("/inner/x")).headers["ratelimit"]).toMatch(/^"nine";r=8;.*"two";r=1;/);
  expect((await sendRequest("/x")).headers["ratelimit"]).toMatch(/^"nine";r=7;[^"]*$/);
});

test("reply.callNotFound() does not count a request twice", async () => {
  const app = Fastify();
  app.register(headgate, { limits: two });
  app.get("/", async (_request, reply) => {
    reply.callNotFound();
    return reply;
  });
  const sendRequest = await start(app);
  const missing = await sendRequest();
  expect([missing.status, missing.headers["x-ratelimit-remaining"]]).toEqual([404, "1"]);
});
