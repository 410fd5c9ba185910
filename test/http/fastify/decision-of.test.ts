import type { Limit } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import type { RequestDecision } from "@headgate/fastify";
import headgate, { byTier } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

const wide = fixedWindow({ limit: 100, window: "1h", name: "wide" });
const narrow = fixedWindow({ limit: 3, window: "1h", name: "narrow" });

/** What can be seen of a limiter's own word from outside. */
function seen(own: RequestDecision | undefined) {
  return own && { limits: own.decision.limits.map(({ name }) => name), subject: own.subject };
}

test("app.headgate.decisionOf returns the plugin's decision, or the route's if it has limits or extends", async () => {
  const app = Fastify();
  await app.register(headgate, { name: "api", limits: wide });
  const answer = async (request: object) => seen(app.headgate.decisionOf(request)) ?? "nothing";
  app.get("/", answer);
  app.get("/own", { config: { rateLimit: { limits: narrow } } }, answer);
  app.get("/both", { config: { rateLimit: { limits: narrow, extend: true } } }, answer);
  app.get("/free", { config: { rateLimit: false } }, answer);
  app.get("/skipped", { config: { rateLimit: { skip: () => true } } }, answer);
  const sendRequest = await start(app);
  const subject = { default: "127.0.0.1" };
  expect((await sendRequest("/")).json()).toEqual({ limits: ["wide"], subject });
  expect((await sendRequest("/own")).json()).toEqual({ limits: ["narrow"], subject });
  expect((await sendRequest("/both")).json()).toEqual({ limits: ["wide", "narrow"], subject });
  expect((await sendRequest("/free")).text).toBe("nothing");
  expect((await sendRequest("/skipped")).text).toBe("nothing");
});

test("a hook has its own decision, separate from the plugin's", async () => {
  const app = Fastify();
  await app.register(headgate, { name: "api", limits: wide });
  const exportLimit = app.rateLimit({ name: "export", limits: narrow });
  app.get("/export", { preHandler: exportLimit }, async (request) => {
    const given = await exportLimit.decisionOf(request)?.refund();
    return [seen(app.headgate.decisionOf(request)), seen(exportLimit.decisionOf(request)), given];
  });
  app.get("/", async (request) => ({ asked: exportLimit.decisionOf(request) !== undefined }));
  const sendRequest = await start(app);
  const subject = { default: "127.0.0.1" };
  for (let i = 0; i < 5; i += 1) {
    expect((await sendRequest("/export")).json()).toEqual([
      { limits: ["wide"], subject },
      { limits: ["narrow"], subject },
      true,
    ]);
  }
  expect((await sendRequest("/")).json()).toEqual({ asked: false });
});

test("settle changes the cost, also of two limiters in one decision", async () => {
  const app = Fastify();
  await app.register(headgate, { name: "api", limits: wide, cost: 10 });
  const route = fixedWindow({ limit: 50, window: "1h", name: "route" });
  app.get("/", { config: { rateLimit: { limits: route, extend: true } } }, async (request) => {
    const own = app.headgate.decisionOf(request);
    const settled = [await own?.settle(30), await own?.settle(0)];
    const { limits } = (await own?.limiter.peek(own.subject, { cost: 0 })) ?? { limits: [] };
    return [settled, limits.map(({ remaining, overdrawn }) => remaining - overdrawn)];
  });
  const sendRequest = await start(app);
  const settled = [30, 0].map((charged) => ({ charged, overflow: 0, degraded: false }));
  expect((await sendRequest("/")).json()).toEqual([settled, [70, 20]]);
  expect((await sendRequest("/")).json()).toEqual([settled, [40, -10]]);
  expect((await sendRequest("/")).status).toBe(429);
});

test("a hook settles its own charge, separate from the plugin's", async () => {
  const app = Fastify();
  await app.register(headgate, { name: "api", limits: wide });
  const tokens = app.rateLimit({ name: "tokens", limits: wide, cost: 40 });
  app.get("/", { preHandler: tokens }, async (request) => {
    const settled = await tokens.decisionOf(request)?.settle(90);
    const { limiter, subject } = tokens.decisionOf(request) ?? {};
    const left = await limiter?.peek(subject ?? "", { cost: 0 });
    return [
      settled?.charged,
      left?.remaining,
      app.headgate.decisionOf(request)?.decision.remaining,
    ];
  });
  const sendRequest = await start(app);
  expect((await sendRequest("/")).json()).toEqual([90, 10, 99]);
  expect((await sendRequest("/")).status).toBe(429);
});

test("decisionOf works in onDenied, in inner scopes, and with tiers", async () => {
  const app = Fastify();
  await app.register(headgate, {
    limits: byTier({ free: fixedWindow({ limit: 1, window: "1h", name: "free" }) }, () => "free"),
    onDenied: (request, reply) => {
      reply.send([seen(request.server.headgate.decisionOf(request)), app.headgate.tiers.size]);
    },
  });
  app.register(async (scope) => {
    scope.get("/", async (request) => {
      return app.headgate.decisionOf(request)?.limiter === app.headgate.tiers.get("free");
    });
  });
  const sendRequest = await start(app);
  expect((await sendRequest()).json()).toBe(true);
  expect((await sendRequest()).json()).toEqual([
    { limits: ["free"], subject: { default: "127.0.0.1" } },
    1,
  ]);
});

test("a cost that comes after the limiter was called is an error", async () => {
  const app = Fastify();
  await app.register(headgate, { limits: wide });
  app.get("/report", { preHandler: app.rateLimit({ cost: 5 }) }, async () => "report");
  app.get("/once", { preHandler: app.rateLimit() }, async () => "once");
  const free = { config: { rateLimit: false as const }, preHandler: app.rateLimit({ cost: 5 }) };
  app.get("/here", free, async () => "here");
  const sendRequest = await start(app);
  expect((await sendRequest("/report")).json()).toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  expect((await sendRequest("/once")).headers["x-ratelimit-remaining"]).toBe("98");
  expect((await sendRequest("/here")).headers["x-ratelimit-remaining"]).toBe("93");
});

test("a hook called without done throws at once", async () => {
  const app = Fastify();
  await app.register(headgate, { limits: wide });
  const hook = app.rateLimit() as unknown as (request: object, reply: object) => void;
  app.get("/", async (request, reply) => {
    hook(request, reply);
    return "ok";
  });
  const sendRequest = await start(app);
  const refused = await sendRequest();
  expect(refused.status).toBe(500);
  expect(refused.json()).toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
});

test("a plugin's key that no limit counts by is rejected once all routes are known", async () => {
  const user = (request: object) => String((request as { id: string }).id);
  const build = async (limits: Limit | undefined) => {
    const app = Fastify();
    app.register(headgate, { limits: wide, key: { user } });
    app.get("/", { config: { rateLimit: { ...(limits && { limits }) } } }, async () => "ok");
    await app.ready();
    await app.close();
  };
  await expect(build(undefined)).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  await expect(build(narrow)).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  await expect(build({ ...narrow, per: "user" })).resolves.toBeUndefined();
});

test("decisionOf works for a limiter that was passed to a route", async () => {
  const app = Fastify();
  await app.register(headgate, { limits: wide });
  const limiter = createLimiter({ limits: narrow });
  app.get("/", { config: { rateLimit: { limiter } } }, async (request) => {
    return app.headgate.decisionOf(request)?.limiter === limiter;
  });
  const sendRequest = await start(app);
  expect((await sendRequest()).json()).toBe(true);
});
