import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { CHANNELS, createLimiter, gcra } from "@headgate/core";
import type { ListedRequest } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate, { byTier } from "@headgate/fastify";
import type { RequestHandler } from "express";
import express5 from "express";
import express4 from "express4";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "./fastify/start-fastify.ts";
import { describeAdapters } from "./support/describe-frameworks.ts";
import { listen } from "./support/listen.ts";
import { recordDecisions } from "./support/record-decisions.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";
import { createHttpClient } from "./support/send-request.ts";
import { watchUnhandled } from "./support/unhandled.ts";
import { watchWarnings } from "./support/warnings.ts";

const redis = useRedis();
const once = gcra({ limit: 1, window: "1h" });
const often = gcra({ limit: 100, window: "1h" });

describeAdapters(({ serve }) => {
  test("each decision is published once, with its subject in the form that reset takes", async () => {
    const heard = recordDecisions();
    const limiter = createLimiter({
      name: "api",
      limits: [once, gcra({ limit: 9, window: "1h", per: "global" })],
    });
    const { sendRequest } = await serve({ limits: { limiter, key: () => "ada" } });
    const answers = [await sendRequest(), await sendRequest()];
    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(heard).toMatchObject([
      { limiter: "api", subject: { default: "ada" }, decision: { allowed: true } },
      { limiter: "api", subject: { default: "ada" }, decision: { allowed: false } },
    ]);
    expect(heard[0]?.durationMs).toBeGreaterThan(0);
    expect(Object.keys(heard[0]?.subject ?? {})).toEqual(["default"]);
    expect(await limiter.reset(heard[0]?.subject as { default: string })).toBe(true);
    expect((await sendRequest()).status).toBe(200);
  });

  test("several limiters publish several decisions, and a limiter mounted twice publishes one", async () => {
    const heard = recordDecisions();
    const twice = createLimiter({ name: "twice", limits: often });
    const { sendRequest } = await serve({
      limits: [{ limiter: twice }, { limits: often, name: "other" }, { limiter: twice }],
    });
    await sendRequest();
    expect(heard.map(({ limiter }) => limiter)).toEqual(["twice", "other"]);
  });

  test("a request that calls no limiter publishes nothing", async () => {
    const heard = recordDecisions();
    const { sendRequest } = await serve({ limits: { limits: once, skip: () => true } });
    await sendRequest();
    expect(heard).toEqual([]);
  });

  test("a request on a list is published on its own channel, and calls no limiter", async () => {
    const heard = recordDecisions();
    const listed: ListedRequest[] = [];
    const note = (message: unknown): void => void listed.push(message as ListedRequest);
    subscribe(CHANNELS.listed, note);
    onTestFinished(() => void unsubscribe(CHANNELS.listed, note));
    const here = ["127.0.0.1"];
    const allowing = await serve({ limits: { limits: once, name: "a", allowList: here } });
    const blocking = await serve({ limits: { limits: once, name: "b", denyList: here } });
    const other = await serve({ limits: { limits: once, name: "c", denyList: ["10.0.0.1"] } });
    const answers = [
      await allowing.sendRequest(),
      await blocking.sendRequest(),
      await other.sendRequest(),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 200]);
    expect(listed.map(({ limiter, list }) => [limiter, list])).toEqual([
      ["a", "allowList"],
      ["b", "denyList"],
    ]);
    expect(Object.keys(listed[0] ?? {})).toEqual(["limiter", "plugin", "route", "list"]);
    expect(heard.map(({ limiter }) => limiter)).toEqual(["c"]);
  });

  test("an error thrown by a subscriber affects neither requests nor the process", async () => {
    watchWarnings();
    const settled = watchUnhandled();
    const fail = (): never => {
      throw new Error("a bug");
    };
    const failLater = async (): Promise<never> => fail();
    for (const subscriber of [fail, failLater as () => unknown]) {
      subscribe(CHANNELS.decision, subscriber);
      onTestFinished(() => void unsubscribe(CHANNELS.decision, subscriber));
    }
    const { sendRequest, errors } = await serve({ limits: { limits: once } });
    expect([(await sendRequest()).status, (await sendRequest()).status]).toEqual([200, 429]);
    expect(errors).toEqual([]);
    await settled();
  });

  test("decisions made by Redis and by the deny cache are published, too", async () => {
    const store = redisStore(redis, { prefix: uniquePrefix() });
    const heard = recordDecisions();
    const { sendRequest } = await serve({
      limits: { name: "channel", limits: once, store, storeTimeout: "1m" },
    });
    await sendRequest();
    await sendRequest();
    await sendRequest();
    expect(heard.map(({ decision: { source } }) => source)).toEqual([
      "store",
      "store",
      "deny-cache",
    ]);
  });
});

test("a message about a Fastify route without its own name contains the plugin's name", async () => {
  const heard = recordDecisions();
  const app = Fastify();
  await app.register(headgate, { name: "api", limits: often });
  const limitedBy = (rateLimit: object) => ({ config: { rateLimit } });
  app.get("/plain", async () => "");
  app.get("/own", limitedBy({ limits: once }), async () => "");
  app.get("/both", limitedBy({ limits: once, extend: true }), async () => "");
  app.get("/tiers", limitedBy({ limits: byTier({ free: once }, () => "free") }), async () => "");
  app.get("/named", limitedBy({ limits: once, name: "named" }), async () => "");
  const sendRequest = await start(app);
  for (const path of ["/plain", "/own", "/both", "/tiers", "/named"]) await sendRequest(path);
  expect(heard.map(({ limiter, plugin }) => [limiter, plugin])).toEqual([
    ["api", undefined],
    ["api GET /own", "api"],
    ["api GET /both", "api"],
    ["api GET /tiers (free)", "api"],
    ["named", undefined],
  ]);
});

describe("the route in a message", () => {
  test("the route in a message of Fastify is the method and the url as added, and undefined without a route", async () => {
    const heard = recordDecisions();
    const app = Fastify();
    await app.register(headgate, { limits: often });
    await app.register(
      async (scope) => {
        scope.get("/users/:id", async () => "");
        const preHandler = app.rateLimit({ limits: often, name: "hook" });
        scope.post("/users/:id", { preHandler }, async () => "");
      },
      { prefix: "/v1" },
    );
    const sendRequest = await start(app);
    await sendRequest("/v1/users/7?a=1");
    await sendRequest("/v1/users/7", { method: "POST" });
    await sendRequest("/v1/users/7", { method: "HEAD" });
    await sendRequest("/nowhere");
    expect(heard.map(({ route }) => route)).toEqual([
      "GET /v1/users/:id",
      "POST /v1/users/:id",
      "POST /v1/users/:id",
      "HEAD /v1/users/:id",
      undefined,
    ]);
  });

  test.each([
    ["Express 4", express4],
    ["Express 5", express5],
  ])(
    "the route in a message of %s is the method, the mount path and the route's path, and undefined in middleware",
    async (_, makeApp) => {
      const heard = recordDecisions();
      const limit = (name: string) => rateLimit({ limits: often, name }) as RequestHandler;
      const app = makeApp();
      const router = makeApp.Router();
      app.use(limit("site"));
      router.get("/users/:id", limit("route"), (_req, res) => void res.end());
      app.use("/v1", router);
      const { sendRequest, end } = createHttpClient(
        (await listen(app)).address() as { port: number },
      );
      onTestFinished(end);
      await sendRequest("/v1/users/7?a=1");
      expect(heard.map(({ limiter, route }) => [limiter, route])).toEqual([
        ["site", undefined],
        ["route", "GET /v1/users/:id"],
      ]);
    },
  );
});
