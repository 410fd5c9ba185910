import type { Decision } from "@headgate/core";
import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { subjectOf } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import type { RateLimit } from "@headgate/express";
import { byTier, perRequest, rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import type { RequestHandler } from "express";
import express5 from "express";
import express4 from "express4";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { start } from "./fastify/start-fastify.ts";
import { describeAdapters } from "./support/describe-frameworks.ts";
import { listen } from "./support/listen.ts";
import { recordDecisions } from "./support/record-decisions.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";
import { createHttpClient } from "./support/send-request.ts";

const redis = useRedis();
const once = gcra({ limit: 1, window: "1h", name: "once" });
const often = gcra({ limit: 100, window: "1h", name: "often" });

/** The names of headers that a rate limiter sends. */
const OURS = /ratelimit|retry-after|cache-control/;

describeAdapters(({ serve }) => {
  test.each(["memory", "Redis"])(
    "with counts in %s, shadow mode denies nothing, sets no headers, and publishes its decisions",
    async (place) => {
      const store =
        place === "Redis" ? redisStore(redis, { prefix: uniquePrefix() }) : memoryStore();
      const heard = recordDecisions();
      const onDenied = vi.fn();
      const { sendRequest, handled } = await serve({
        limits: { name: "new", limits: once, store, storeTimeout: "1m", shadow: true, onDenied },
        routes: {
          "/": { handle: (request) => [request.rateLimit ?? null, subjectOf(request) ?? null] },
        },
      });
      for (let i = 0; i < 3; i += 1) {
        const response = await sendRequest();
        expect([response.status, response.json()]).toEqual([200, [null, null]]);
        expect(Object.keys(response.headers).filter((name) => OURS.test(name))).toEqual([]);
      }
      expect(handled).toHaveLength(3);
      expect(onDenied).not.toHaveBeenCalled();
      expect(heard).toMatchObject(
        [true, false, false].map((wouldAllow) => ({
          limiter: "new",
          shadow: true,
          subject: { default: "127.0.0.1" },
          decision: { allowed: true, wouldAllow },
        })),
      );
    },
  );

  test("other limiters on the request are not affected by shadow mode, whatever the order", async () => {
    const shadow = { name: "new", limits: once, shadow: true };
    const enforcing = { name: "old", limits: gcra({ limit: 2, window: "1h", name: "old" }) };
    for (const limits of [
      [shadow, enforcing],
      [enforcing, shadow],
      [shadow, enforcing, shadow],
    ]) {
      const { sendRequest } = await serve({ limits });
      for (const left of ["1", "0"]) {
        const { status, headers, json } = await sendRequest();
        expect(status).toBe(200);
        expect(json()).toMatchObject({ limit: 2, remaining: Number(left), shadow: false });
        expect(headers["x-ratelimit-remaining"]).toBe(left);
        expect(headers["ratelimit-policy"]).toBe('"old";q=2;w=3600');
        expect(headers["ratelimit"]).toMatch(/^"old";r=\d;t=\d+$/);
      }
      const denied = await sendRequest();
      expect(denied.status).toBe(429);
      expect(denied.json()).toMatchObject({ "violated-policies": ["old"] });
    }
  });

  test("shadow mode does not refuse a request without its key", async () => {
    const heard = recordDecisions();
    const { sendRequest } = await serve({
      limits: { limits: once, shadow: true, missingKey: "reject", key: () => undefined },
    });
    expect((await sendRequest()).status).toBe(200);
    expect(heard).toEqual([]);
  });

  test("a request allowed in shadow mode is still denied by an enforcing limiter of the same name", async () => {
    const limits = { name: "api", limits: once, store: memoryStore() };
    const { sendRequest } = await serve({ limits: [{ ...limits, shadow: true }, limits] });
    // Two that count the same, and the first has taken all there is.
    expect((await sendRequest()).status).toBe(429);
    const other = await serve({ limits: [limits, { ...limits, shadow: true }] });
    expect((await other.sendRequest()).status).toBe(429);
  });

  test("shadow applies to all tiers, and a limiter that was passed in has its own", async () => {
    const tiers = byTier({ free: once }, () => "free") as never;
    const limiter = createLimiter({ name: "own", limits: once, shadow: true });
    const { sendRequest } = await serve({ limits: [{ limits: tiers, shadow: true }, { limiter }] });
    expect([(await sendRequest()).status, (await sendRequest()).status]).toEqual([200, 200]);
  });

  test("limits of perRequest deny nothing in shadow mode", async () => {
    const { sendRequest } = await serve({
      limits: { name: "new", limits: perRequest(once, () => once) as never, shadow: true },
    });
    for (let i = 0; i < 3; i += 1) expect((await sendRequest()).status).toBe(200);
  });

  test("an error in a key function is an error in shadow mode, too", async () => {
    const key = () => {
      throw new TypeError("a bug");
    };
    const { sendRequest, errors } = await serve({ limits: { limits: once, shadow: true, key } });
    expect((await sendRequest()).status).toBe(500);
    expect(errors).toHaveLength(1);
  });
});

/** What can be seen of a limiter's own word. */
function seen({
  decision: { allowed, shadow, wouldAllow },
  subject,
}: {
  decision: Decision;
  subject: object;
}) {
  return { allowed, shadow, wouldAllow, subject };
}

const wouldDeny = {
  allowed: true,
  shadow: true,
  wouldAllow: false,
  subject: { default: "127.0.0.1" },
};

describe("decisionOf in shadow mode", () => {
  test.each([
    ["Express 4", express4],
    ["Express 5", express5],
  ])(
    "decisionOf returns the decision in shadow mode, in %s, separate from those of others",
    async (_, makeApp) => {
      const shadow: RateLimit = rateLimit({ limits: once, shadow: true });
      const enforcing: RateLimit = rateLimit({ limits: often });
      const app = makeApp();
      app.use(shadow as RequestHandler, enforcing as RequestHandler, (req, res) => {
        const own = shadow.decisionOf(req);
        res.json([
          own && seen(own),
          enforcing.decisionOf(req)?.decision.shadow,
          req.rateLimit?.shadow,
        ]);
      });
      const { sendRequest, end } = createHttpClient(
        (await listen(app)).address() as { port: number },
      );
      onTestFinished(end);
      await sendRequest();
      expect((await sendRequest()).json()).toEqual([wouldDeny, false, false]);
    },
  );

  test("a charge made in shadow mode can be refunded", async () => {
    const app = Fastify();
    await app.register(headgate, { limits: once, shadow: true });
    app.get("/", async (request) => app.headgate.decisionOf(request)?.refund());
    const sendRequest = await start(app);
    for (let i = 0; i < 2; i += 1) expect((await sendRequest("/")).json()).toBe(true);
    expect(await app.headgate.limiter.peek("127.0.0.1")).toMatchObject({ wouldAllow: true });
  });

  test("app.headgate.decisionOf returns decisions in shadow mode, also if only the route is in shadow mode", async () => {
    const app = Fastify();
    await app.register(headgate, { name: "api", limits: once });
    const answer = async (request: object) => {
      const own = app.headgate.decisionOf(request);
      return own && seen(own);
    };
    app.get("/", answer);
    app.get("/new", { config: { rateLimit: { shadow: true } } }, answer);
    const sendRequest = await start(app);
    expect((await sendRequest("/")).status).toBe(200);
    expect((await sendRequest("/")).status).toBe(429);
    const free = await sendRequest("/new");
    expect([free.status, free.json()]).toEqual([200, wouldDeny]);
    expect(free.headers).not.toHaveProperty("ratelimit");
  });
});
