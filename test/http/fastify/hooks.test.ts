import { Readable } from "node:stream";
import type { HookName, RouteRateLimitOptions } from "@headgate/fastify";
import headgate, { gcra } from "@headgate/fastify";
import type { FastifyRequest } from "fastify";
import Fastify from "fastify";
import { expect, test, vi } from "vitest";
import { start } from "./start-fastify.ts";

const limits = gcra({ limit: 2, window: "1h" });

const HOOKS = ["onRequest", "preParsing", "preValidation", "preHandler"] as const;

/** An application whose hooks note when they ran, with the limiter in one of them. */
async function noting(hook: HookName | undefined) {
  const order: string[] = [];
  const app = Fastify();
  for (const name of HOOKS) {
    app.addHook(name as "onRequest", async ({ rateLimit }) => {
      order.push(`${name} ${rateLimit === null ? "undecided" : "decided"}`);
    });
  }
  app.register(headgate, { limits, hook });
  app.post("/", async ({ body }) => {
    order.push("handler");
    return { body };
  });
  return { sendRequest: await start(app), order };
}

test.each(HOOKS)("hook: %s decides in that hook, together with existing hooks", async (hook) => {
  const { sendRequest, order } = await noting(hook);
  const { status, headers } = await sendRequest("/", { method: "POST" });
  expect([status, headers["x-ratelimit-remaining"]]).toEqual([200, "1"]);
  const at = HOOKS.indexOf(hook);
  expect(order).toEqual([
    ...HOOKS.map((name, i) => `${name} ${i > at ? "decided" : "undecided"}`),
    "handler",
  ]);
  await sendRequest("/", { method: "POST" });
  order.length = 0;
  expect((await sendRequest("/", { method: "POST" })).status).toBe(429);
  expect(order).toEqual(HOOKS.slice(0, at + 1).map((name) => `${name} undecided`));
});

test("the default hook is onRequest, so a denied body is not parsed", async () => {
  const { sendRequest, order } = await noting(undefined);
  await sendRequest("/", { method: "POST" });
  await sendRequest("/", { method: "POST" });
  order.length = 0;
  await sendRequest("/", { method: "POST" });
  expect(order).toEqual(["onRequest undecided"]);
});

test("an unknown hook fails the boot", async () => {
  for (const hook of ["onSend", "preSerialization", "onResponse", "toString", true, null]) {
    const app = Fastify();
    app.register(headgate, { limits, hook: hook as never });
    await expect(app.ready()).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  }
});

/** Authentication as an application does it: a hook that takes its time and decorates the request. */
async function authenticate(request: FastifyRequest): Promise<void> {
  await new Promise(setImmediate);
  const user = request.headers["x-user"];
  if (typeof user === "string") Object.assign(request, { user });
}

const userOf = (request: FastifyRequest) => (request as { user?: string }).user;

const as = (user: string) => ({ headers: { "x-user": user } });

test.each<[where: string, HookName]>([
  ["preHandler", "preHandler"],
  ["preValidation", "preValidation"],
])("a key that an authentication hook sets is available in a later hook: %s", async (_, hook) => {
  const app = Fastify();
  app.addHook("onRequest", authenticate);
  app.register(headgate, { limits, hook, key: userOf, missingKey: "reject" });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  for (const status of [200, 200, 429])
    expect((await sendRequest("/", as("ann"))).status).toBe(status);
  expect((await sendRequest("/", as("bob"))).status).toBe(200);
  expect((await sendRequest()).status).toBe(400);
});

test("an authentication hook of the same kind runs first if it was added first", async () => {
  for (const [when, status] of [
    ["before", 200],
    ["after", 400],
  ] as const) {
    const app = Fastify();
    if (when === "before") app.addHook("onRequest", authenticate);
    await app.register(headgate, { limits, key: userOf, missingKey: "reject" });
    if (when === "after") app.addHook("onRequest", authenticate);
    app.get("/", async () => "ok");
    const sendRequest = await start(app);
    expect((await sendRequest("/", as("ann"))).status).toBe(status);
  }
});

test("a request that an authentication hook rejects is not counted", async () => {
  const app = Fastify();
  app.addHook("onRequest", async (request, reply) => {
    if (!("x-user" in request.headers)) return reply.code(401).send("who?");
  });
  app.register(headgate, { limits });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  for (let i = 0; i < 5; i++) expect((await sendRequest()).status).toBe(401);
  expect((await sendRequest("/", as("ann"))).headers["x-ratelimit-remaining"]).toBe("1");
});

test("a route may be decided in its own hook, and is decided once", async () => {
  const app = Fastify();
  app.register(headgate, { limits });
  app.post(
    "/late",
    {
      config: { rateLimit: { hook: "preHandler", key: ({ body }) => (body as { id: string }).id } },
    },
    async () => "ok",
  );
  const sendRequest = await start(app);
  const post = (id: string) => app.inject({ method: "POST", url: "/late", payload: { id } });
  expect((await post("a")).headers["x-ratelimit-remaining"]).toBe("1");
  expect((await post("a")).headers["x-ratelimit-remaining"]).toBe("0");
  expect((await post("b")).headers["x-ratelimit-remaining"]).toBe("1");
  expect((await post("a")).statusCode).toBe(429);
  expect((await sendRequest("/")).headers["x-ratelimit-remaining"]).toBe("1");
});

test("preParsing hooks of others can still replace the body", async () => {
  const app = Fastify();
  app.register(headgate, { limits, hook: "preParsing" });
  app.after(() => {
    app.addHook("preParsing", async () => Readable.from(['{"said":"after."}']));
  });
  app.post("/", async ({ body }) => body);
  await start(app);
  const answer = await app.inject({ method: "POST", url: "/", payload: { said: "before" } });
  expect(answer.json()).toEqual({ said: "after." });
});

test("hooks in which nothing is decided are not added", async () => {
  const app = Fastify();
  const addHook = vi.spyOn(app, "addHook");
  const added = () =>
    addHook.mock.calls.map(([name]) => name).filter((name) => HOOKS.includes(name as HookName));
  app.get("/early", { config: { rateLimit: { hook: "preValidation" } } }, async () => "ok");
  await app.register(headgate, { limits });
  expect(added()).toEqual(["onRequest", "preValidation"]);
  app.register(async (scope) => {
    scope.get("/late", { config: { rateLimit: { hook: "preHandler" } } }, async () => "ok");
    scope.get("/later", { config: { rateLimit: { hook: "preHandler" } } }, async () => "ok");
  });
  app.get("/", { config: { rateLimit: { cost: 2 } } }, async () => "ok");
  const sendRequest = await start(app);
  expect(added()).toEqual(["onRequest", "preValidation", "preHandler"]);
  for (const [remoteAddress, url] of Object.entries({
    "10.0.0.1": "/early",
    "10.0.0.2": "/later",
  })) {
    const send = () => app.inject({ url, remoteAddress });
    expect((await send()).headers["x-ratelimit-remaining"]).toBe("1");
    expect((await send()).headers["x-ratelimit-remaining"]).toBe("0");
    expect((await send()).statusCode).toBe(429);
  }
  expect((await sendRequest("/")).headers["x-ratelimit-remaining"]).toBe("0");
});

test("a route whose hook is changed too late is an error, so that it is not unlimited", async () => {
  const app = Fastify();
  await app.register(headgate, { limits });
  // Runs after the plugin has seen the route.
  app.addHook("onRoute", (route) => {
    if (route.url === "/late")
      route.config = { ...route.config, rateLimit: { hook: "preHandler" } };
  });
  app.get("/late", async () => "ok");
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  for (let i = 0; i < 2; i += 1) {
    const { status, text } = await sendRequest("/late");
    expect(status).toBe(500);
    expect(text).toContain("HEADGATE_INVALID_OPTION");
    expect(text).toContain('hook \\"preHandler\\" was set after the route had been added');
  }
  expect((await sendRequest("/")).status).toBe(200);
});

test("a hook that is changed too late fails the boot if the route is known", async () => {
  const app = Fastify();
  await app.register(headgate, { limits });
  const rateLimit: RouteRateLimitOptions & { hook?: HookName } = { cost: 1 };
  app.get("/", { config: { rateLimit } }, async () => "ok");
  Object.assign(rateLimit, { hook: "preHandler" });
  await expect(app.ready()).rejects.toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
    message: expect.stringContaining("GET /: hook"),
  });
});
