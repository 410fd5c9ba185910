import { setTimeout as after } from "node:timers/promises";
import { fixedWindow, gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import type { ErrorRequestHandler, RequestHandler } from "express";
import express5 from "express";
import express4 from "express4";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "./fastify/start-fastify.ts";
import { deferred } from "./support/deferred.ts";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { SharedOptions } from "./support/framework.ts";
import { listen } from "./support/listen.ts";
import { recordDecisions } from "./support/record-decisions.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";
import { createHttpClient } from "./support/send-request.ts";
import { watchUnhandled } from "./support/unhandled.ts";

const redis = useRedis();
const once = gcra({ limit: 1, window: "1h", name: "once" });

const ALLOWING: [string, NonNullable<SharedOptions["onDenied"]>][] = [
  ["returns", () => "allow"],
  [
    "resolves",
    async () => {
      await after(1);
      return "allow";
    },
  ],
];

describeAdapters(({ serve, returnsAnswers = false }) => {
  describe.each(ALLOWING)('onDenied that %s "allow"', (_, onDenied) => {
    test.each(["memory", "Redis"])(
      "a denied request continues without a charge, with counts in %s",
      async (place) => {
        const store =
          place === "Redis" ? redisStore(redis, { prefix: uniquePrefix() }) : memoryStore();
        const heard = recordDecisions();
        const { sendRequest, handled } = await serve({
          limits: {
            name: "api",
            limits: fixedWindow({ limit: 1, window: "1h" }),
            store,
            storeTimeout: "1m",
            onDenied,
          },
        });
        await sendRequest();
        for (let i = 0; i < 2; i += 1) {
          const { status, headers, json } = await sendRequest();
          expect(status).toBe(200);
          expect(json()).toMatchObject({
            allowed: false,
            remaining: 0,
            limits: [{ overdrawn: 0 }],
          });
          expect(headers).toMatchObject({ "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0" });
          expect(headers).toHaveProperty("ratelimit");
          expect(headers).toHaveProperty("ratelimit-policy");
          expect(headers).not.toHaveProperty("retry-after");
          expect(headers).not.toHaveProperty("cache-control");
        }
        expect(handled).toHaveLength(3);
        expect(
          heard.map(({ allowedByOnDenied, decision }) => [decision.allowed, allowedByOnDenied]),
        ).toEqual([
          [true, undefined],
          [false, true],
          [false, true],
        ]);
      },
    );
  });

  test.each<[string, SharedOptions["onDenied"]]>([
    ["another word", () => "allowed"],
    ["true", () => true],
    ["nothing", () => {}],
    [
      "an error, thrown",
      () => {
        throw new Error("no");
      },
    ],
    ["the error handler's", "error"],
  ])(
    "a denied request that onDenied does not allow (%s) is published as denied, once",
    async (_, onDenied) => {
      const heard = recordDecisions();
      const { sendRequest, handled } = await serve({ limits: { limits: once, onDenied } });
      await sendRequest();
      await sendRequest();
      expect(handled).toHaveLength(1);
      expect(heard).toHaveLength(2);
      expect(heard[1]).toMatchObject({ decision: { allowed: false } });
      expect(heard[1]).not.toHaveProperty("passed");
    },
  );

  test('"allow" is ignored after a response has begun', async () => {
    const heard = recordDecisions();
    const { sendRequest, handled } = await serve({
      limits: {
        limits: once,
        onDenied: async (_, send) => {
          send(503, "no");
          return "allow";
        },
      },
    });
    await sendRequest();
    expect(await sendRequest()).toMatchObject({ status: 503, text: "no" });
    expect(handled).toHaveLength(1);
    expect(heard[1]).not.toHaveProperty("passed");
  });

  test.skipIf(returnsAnswers)(
    "a denial whose onDenied never settles is published when the response has ended",
    async () => {
      const heard = recordDecisions();
      const { sendRequest } = await serve({
        limits: {
          limits: once,
          onDenied: (_, send) => {
            send(429, "no");
            return new Promise(() => {});
          },
        },
      });
      await sendRequest();
      expect((await sendRequest()).text).toBe("no");
      await expect.poll(() => heard.length).toBe(2);
      expect(heard[1]).not.toHaveProperty("passed");
    },
  );

  test("a later limiter decides separately, and may allow or deny", async () => {
    const store = memoryStore();
    const { sendRequest, handled } = await serve({
      limits: [
        { name: "first", limits: once, onDenied: () => "allow" },
        { name: "second", limits: gcra({ limit: 2, window: "1h", name: "second" }), store },
      ],
    });
    await sendRequest();
    const passed = await sendRequest();
    expect([passed.status, passed.json()]).toMatchObject([200, { allowed: false, limit: 1 }]);
    expect(passed.headers["ratelimit-policy"]).toBe('"once";q=1;w=3600, "second";q=2;w=3600');
    expect(passed.headers["x-ratelimit-limit"]).toBe("1");
    const denied = await sendRequest();
    expect([denied.status, denied.json()]).toMatchObject([
      429,
      { "violated-policies": ["second"] },
    ]);
    expect(denied.headers).toHaveProperty("retry-after");
    expect(handled).toHaveLength(2);
  });

  test("a limiter that is mounted twice does not deny a request that onDenied allowed", async () => {
    const limits = { name: "api", limits: once, store: memoryStore(), onDenied: () => "allow" };
    const { sendRequest } = await serve({ limits: [limits, { ...limits, onDenied: undefined }] });
    await sendRequest();
    expect((await sendRequest()).status).toBe(200);
  });

  test("a request whose client disconnected is not allowed by onDenied", async () => {
    const settled = watchUnhandled();
    const heard = recordDecisions();
    const asked = deferred<void>();
    const goOn = deferred<void>();
    const site = await serve({
      limits: {
        limits: once,
        onDenied: async () => {
          asked.resolve();
          await goOn.promise;
          return "allow";
        },
      },
    });
    await site.sendRequest();
    const { sendRequest, end } = createHttpClient({ port: site.port });
    const gone = sendRequest().catch(() => "gone");
    await asked.promise;
    await end();
    expect(await gone).toBe("gone");
    await expect.poll(() => heard.length).toBe(2);
    goOn.resolve();
    await settled();
    expect(site.handled).toHaveLength(1);
    expect(heard[1]).not.toHaveProperty("passed");
  });

  test('errors of the handler after "allow" go to the application', async () => {
    const { sendRequest, errors } = await serve({
      limits: { limits: once, onDenied: () => "allow" },
      routes: {
        "/": {
          handle: ({ rateLimit: decision }) => {
            if (decision?.allowed === false) throw new TypeError("a bug");
          },
        },
      },
    });
    await sendRequest();
    expect((await sendRequest()).status).toBe(500);
    expect(errors.map(({ name }) => name)).toEqual(["TypeError"]);
  });
});

test('"allow" is ignored after a raw response of Fastify', async () => {
  const app = Fastify();
  await app.register(headgate, {
    limits: once,
    onDenied: (_, reply) => {
      reply.raw.statusCode = 503;
      reply.raw.end("by hand");
      return "allow";
    },
  });
  const handled: string[] = [];
  app.get("/", async ({ url }) => {
    handled.push(url);
    return "handled";
  });
  const sendRequest = await start(app);
  await sendRequest("/");
  expect(await sendRequest("/")).toMatchObject({ status: 503, text: "by hand" });
  expect(handled).toHaveLength(1);
});

test.each([
  ["Express 4", express4],
  ["Express 5", express5],
])(
  'a template that is missing in the handler after "allow" goes to the error handler of %s',
  async (_, makeApp) => {
    const app = makeApp();
    app.set("views", import.meta.dirname).set("view engine", "ejs");
    const limit = rateLimit({ limits: once, onDenied: () => "allow" });
    app.use(limit as RequestHandler, (_req, res) => res.render("missing"));
    const onError: ErrorRequestHandler = (_error, _req, res, _next) => {
      res.status(500).send("no template");
    };
    app.use(onError);
    const { sendRequest, end } = createHttpClient(
      (await listen(app)).address() as { port: number },
    );
    onTestFinished(end);
    for (let i = 0; i < 2; i += 1) {
      expect(await sendRequest()).toMatchObject({ status: 500, text: "no template" });
    }
  },
);

describe("headers before the denial", () => {
  test.each(["onRequest", "preParsing", "preValidation", "preHandler"] as const)(
    '"allow" restores the earlier headers, in %s of Fastify',
    async (hook) => {
      const app = Fastify();
      app.addHook("onRequest", async (_, reply) => {
        reply.header("Cache-Control", "max-age=60").raw.setHeader("Retry-After", "7");
      });
      await app.register(headgate, { limits: once, hook, onDenied: () => "allow" });
      app.get("/", async () => "handled");
      app.get("/raw", async (_, reply) => {
        reply.hijack();
        reply.raw.end(JSON.stringify(reply.raw.getHeaders()));
      });
      const sendRequest = await start(app);
      await sendRequest("/");
      const { status, headers, text } = await sendRequest("/");
      expect([status, text]).toEqual([200, "handled"]);
      expect(headers).toMatchObject({ "cache-control": "max-age=60", "retry-after": "7" });
      const raw = await sendRequest("/raw");
      expect([raw.status, raw.json()]).toEqual([200, { "retry-after": "7" }]);
    },
  );

  test.each([
    ["Express 4", express4],
    ["Express 5", express5],
  ])('"allow" restores the earlier headers, in %s', async (_, makeApp) => {
    const app = makeApp();
    const limit = rateLimit({ limits: once, onDenied: () => "allow" });
    app.use((_req, res, next) => {
      res.set({ "Cache-Control": "max-age=60", "Retry-After": "7" });
      next();
    });
    app.use(limit as RequestHandler, (req, res) => {
      res.json(limit.decisionOf(req)?.decision.allowed);
    });
    const { sendRequest, end } = createHttpClient(
      (await listen(app)).address() as { port: number },
    );
    onTestFinished(end);
    await sendRequest();
    const { status, headers, json } = await sendRequest();
    expect([status, json()]).toEqual([200, false]);
    expect(headers).toMatchObject({ "cache-control": "max-age=60", "retry-after": "7" });
  });
});
