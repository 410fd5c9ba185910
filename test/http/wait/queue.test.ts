import { createLimiter, fixedWindow, gcra, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { byTier, perRequest } from "@headgate/express";
import { describe, expect, test } from "vitest";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { eventually } from "../support/eventually.ts";
import type { AnyRequest } from "../support/framework.ts";
import { manualClock } from "../support/manual-clock.ts";
import { recordDecisions } from "../support/record-decisions.ts";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";
import {
  clientNameOf,
  openRequest,
  sendAndWait,
  useStores,
  waitedMs,
  watchQueue,
} from "./waiting-clients.ts";

const places = useStores();
const redis = useRedis();
const hourly = slidingLog({ limit: 1, window: "1h", name: "hourly" });

describeAdapters(({ serve }) => {
  describe.each(places)("with counts in $name", ({ createLimiter: make }) => {
    test("waiting requests are allowed first come, first served, at the rate of the limit", async () => {
      const limiter = make({ limits: gcra({ limit: 1, window: "100ms" }) });
      const { port, handled } = await serve({ limits: { limiter, wait: "10s" } });
      const started = performance.now();
      const line = watchQueue();
      const visits = [];
      for (let i = 0; i < 6; i += 1) {
        visits.push(await openRequest(port, `/?${i}`));
        // Connections of their own are read in any order: each is in line before the next one is made.
        await eventually(() => {
          if (line.count() < i) expect(handled).toContain(`/?${i}`);
        });
      }
      const answers = await Promise.all(visits.map(({ response }) => response));
      expect(performance.now() - started).toBeGreaterThanOrEqual(499);
      expect(handled).toEqual([0, 1, 2, 3, 4, 5].map((i) => `/?${i}`));
      expect(answers.every((answer) => answer.startsWith("HTTP/1.1 200"))).toBe(true);
    });

    test("a request whose wait runs out is denied as usual, and costs nothing", async () => {
      const heard = recordDecisions();
      const limiter = make({ limits: hourly });
      const { sendRequest, handled } = await serve({ limits: { limiter, wait: 120 } });
      const first = await sendRequest();
      expect(first.status).toBe(200);
      expect(first.headers).not.toHaveProperty("server-timing");
      const denied = await sendRequest();
      expect(denied.status).toBe(429);
      expect(denied.json()).toMatchObject({ "violated-policies": ["hourly"] });
      expect(denied.headers).toMatchObject({ "x-ratelimit-remaining": "0" });
      const retryAfter = Number(denied.headers["retry-after"]);
      expect(retryAfter).toBeGreaterThan(3_590);
      expect(retryAfter).toBeLessThanOrEqual(3_600);
      expect(waitedMs(denied.headers["server-timing"])).toBeGreaterThanOrEqual(119);
      expect(handled).toHaveLength(1);
      // One decision for each request, however often it was asked for in line.
      expect(heard.map(({ decision: { allowed } }) => allowed)).toEqual([true, false]);
      expect(heard[1]?.durationMs).toBeGreaterThanOrEqual(119);
      // Told at the end of the wait. The store's clock is not the one that waits are measured by, and may be milliseconds behind.
      expect(heard[1]?.decision.retryAfterMs).toBeLessThanOrEqual(3_600_000 - 100);
      await limiter.reset("127.0.0.1");
      expect((await limiter.peek("127.0.0.1")).allowed).toBe(true);
    });

    test("a request that was allowed after a wait reports how long it waited", async () => {
      const clock = manualClock();
      const limiter = make({ limits: fixedWindow({ limit: 1, window: "50ms" }) }, clock.now);
      const { sendRequest } = await serve({ limits: { limiter, wait: "10s" } });
      await sendRequest();
      const from = performance.now();
      const { status, headers, json } = await sendAndWait(sendRequest, clock, 50);
      const tookMs = performance.now() - from;
      expect(status).toBe(200);
      expect(json()).toMatchObject({ allowed: true, retryAfterMs: 0 });
      expect(headers).not.toHaveProperty("retry-after");
      const ms = waitedMs(headers["server-timing"]);
      // It waits until the window ends, and the wait is a part of the time that the request took.
      expect(ms).toBeGreaterThanOrEqual(49);
      expect(ms).toBeLessThanOrEqual(tookMs + 0.1);
    });

    test("no request overtakes those that wait, even with a smaller cost", async () => {
      const line = watchQueue();
      const clock = manualClock();
      const limiter = make({ limits: slidingLog({ limit: 4, window: "50ms" }) }, clock.now);
      const { port, sendRequest, handled } = await serve({
        limits: { limiter, wait: "10s", cost: (request) => Number(clientNameOf(request)) },
      });
      await sendRequest("/?3");
      const large = await openRequest(port, "/?4");
      // It is in line when it has been denied, which takes a busy server longer.
      await line.joined(1);
      const small = await openRequest(port, "/?1");
      await line.joined(2);
      for (const { response } of [large, small]) {
        clock.advance(50);
        await response;
      }
      expect(handled).toEqual(["/?3", "/?4", "/?1"]);
    });

    test("a full queue denies at once, and only its own subject", async () => {
      const line = watchQueue();
      const limiter = make({ limits: hourly, maxQueue: 6 });
      const wait = { limiter, key: clientNameOf };
      const { port, sendRequest } = await serve({
        routes: {
          "/": { limits: { ...wait, wait: "10m" } },
          "/briefly": { limits: { ...wait, wait: 1 } },
        },
      });
      await sendRequest("/?ann");
      // Half of all places are for one subject.
      const visits = await Promise.all(Array.from({ length: 3 }, () => openRequest(port, "/?ann")));
      await line.joined(3);
      // What does not wait found the line full.
      const denied = await eventually(async () => {
        const response = await sendRequest("/briefly?ann");
        expect(response.headers).not.toHaveProperty("server-timing");
        return response;
      });
      expect(denied.status).toBe(429);
      expect(denied.json()).toMatchObject({ "violated-policies": ["hourly"] });
      expect(Number(denied.headers["retry-after"])).toBeGreaterThan(3_500);
      expect((await sendRequest("/?ben")).status).toBe(200);
      const waiting = await sendRequest("/briefly?ben");
      expect(waiting.status).toBe(429);
      expect(waiting.headers).toHaveProperty("server-timing");
      for (const { disconnect } of visits) disconnect();
      await eventually(async () => {
        expect((await sendRequest("/briefly?ann")).headers).toHaveProperty("server-timing");
      });
    });

    test("all subjects share maxQueue, and requests beyond it are denied", async () => {
      const line = watchQueue();
      const limiter = make({ limits: hourly, maxQueue: 4 });
      const limited = { limiter, key: clientNameOf };
      const { port, sendRequest } = await serve({
        routes: {
          "/": { limits: { ...limited, wait: "10m" } },
          "/briefly": { limits: { ...limited, wait: 1 } },
        },
      });
      for (const name of ["a", "b", "c", "d", "new"]) await sendRequest(`/?${name}`);
      const visits = await Promise.all(
        ["a", "b", "c", "d"].map((name) => openRequest(port, `/?${name}`)),
      );
      await line.joined(4);
      await eventually(async () => {
        const { status, headers } = await sendRequest("/briefly?new");
        expect(status).toBe(429);
        expect(headers).not.toHaveProperty("server-timing");
      });
      // Whoever has room in its limit is admitted all the same.
      expect((await sendRequest("/?newest")).status).toBe(200);
      for (const { disconnect } of visits) disconnect();
    });

    test("shadow mode does not wait", async () => {
      const limiter = make({ limits: hourly, shadow: true });
      const { sendRequest } = await serve({ limits: { limiter, wait: "10m" } });
      for (let i = 0; i < 3; i += 1) {
        const { status, headers } = await sendRequest();
        expect(status).toBe(200);
        expect(headers).not.toHaveProperty("server-timing");
      }
    });

    test("close denies waiting requests as if their wait had run out, and later requests get its error", async () => {
      const line = watchQueue();
      const limiter = make({ limits: hourly, maxQueue: 4 });
      const { port, sendRequest, errors } = await serve({
        limits: { limiter, wait: "10m" },
        routes: { "/": {} },
      });
      await sendRequest();
      const visits = await Promise.all([openRequest(port, "/"), openRequest(port, "/")]);
      await line.joined(2);
      await eventually(async () => {
        expect((await limiter.wait("127.0.0.1", { timeout: 1 }).catch(Object)).code).toBe(
          "HEADGATE_WAIT_TIMEOUT",
        );
      });
      await limiter.close();
      for (const { response } of visits) {
        expect(await response).toMatch(/^HTTP\/1.1 429 (.|\r\n)*retry-after: 3\d\d\d\r\n/i);
      }
      expect(errors).toEqual([]);
      expect((await sendRequest()).json()).toMatchObject({ code: "HEADGATE_CLOSED" });
    });

    test("a cost above the limit is denied at once, even if others wait", async () => {
      const line = watchQueue();
      const limiter = make({ limits: slidingLog({ limit: 4, window: "1h" }) });
      const { port, sendRequest } = await serve({
        limits: { limiter, wait: "10m", cost: (request) => Number(clientNameOf(request)) },
      });
      await sendRequest("/?4");
      void (await openRequest(port, "/?4"));
      await line.joined(1);
      const { status, headers } = await sendRequest("/?5");
      expect(status).toBe(429);
      expect(headers).not.toHaveProperty("retry-after");
      expect(headers).not.toHaveProperty("server-timing");
    });
  });

  test("headers: false hides the wait, and the application's own Server-Timing stays", async () => {
    const limiter = createLimiter({ limits: hourly });
    const silent = await serve({ limits: { limiter, wait: 5, headers: false } });
    await silent.sendRequest();
    const denied = await silent.sendRequest();
    expect(denied.status).toBe(429);
    expect(denied.headers).not.toHaveProperty("server-timing");
  });

  test("two mounts of one limiter wait once, and two limiters each report their wait", async () => {
    const heard = recordDecisions();
    const line = watchQueue();
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const limitedTo = (window: number) => fixedWindow({ limit: 1, window });
    const first = createLimiter({ name: "first", limits: limitedTo(30), store });
    const second = createLimiter({ name: "second", limits: limitedTo(60), store });
    const { sendRequest } = await serve({
      limits: [
        { limiter: first, wait: "10s" },
        { limiter: first, wait: "10s" },
        { limiter: second, wait: "10s" },
      ],
    });
    await sendRequest();
    const asked = sendRequest();
    for (const joined of [1, 2]) {
      await line.joined(joined);
      clock.advance(30);
    }
    const { status, headers } = await asked;
    expect(status).toBe(200);
    expect(headers["server-timing"]).toMatch(/^headgate;dur=\d+\.\d, headgate;dur=\d+\.\d$/);
    expect(heard.map(({ limiter }) => limiter)).toEqual(["first", "second", "first", "second"]);
  });

  test("perRequest and tiers have queues of their own", async () => {
    const often = fixedWindow({ limit: 1, window: "50ms", name: "plan" });
    for (const limits of [
      perRequest(fixedWindow({ limit: 9, window: "50ms", name: "plan" }), () => often),
      byTier({ free: often }, () => "free"),
    ]) {
      const clock = manualClock();
      const store = memoryStore({ clock: clock.now });
      const options = { name: "plans", limits: limits as never, store, wait: "10s" } as const;
      const { sendRequest } = await serve({ limits: options });
      await sendRequest();
      const { status, headers } = await sendAndWait(sendRequest, clock, 50);
      expect(status).toBe(200);
      expect(headers["x-ratelimit-limit"]).toBe("1");
      expect(waitedMs(headers["server-timing"])).toBeGreaterThan(0);
    }
  });

  test("a cost by name does not wait for a limit with cost 0, and its denial reports only the charged limits", async () => {
    const line = watchQueue();
    const requests = slidingLog({ limit: 9, window: "1h", name: "requests" });
    const tokens = fixedWindow({ limit: 1_000, window: "1h", name: "tokens" });
    const limiter = createLimiter({ limits: [requests, tokens] });
    const cost = (request: AnyRequest) => ({ tokens: Number(clientNameOf(request)) });
    const { port, sendRequest } = await serve({
      routes: {
        "/": { limits: { limiter, cost, wait: "10m" } },
        "/briefly": { limits: { limiter, cost, wait: 20 } },
      },
    });
    await sendRequest("/?600");
    const { disconnect } = await openRequest(port, "/?600");
    await line.joined(1);
    const free = await sendRequest("/?0");
    expect(free.status).toBe(200);
    expect(free.headers).not.toHaveProperty("server-timing");
    const denied = await sendRequest("/briefly?700");
    expect(denied.status).toBe(429);
    expect(denied.json()).toMatchObject({ "violated-policies": ["tokens"] });
    expect(denied.headers["ratelimit"]).toMatch(/^"requests";r=8;t=\d+, "tokens";r=400;t=\d+$/);
    disconnect();
  });

  test("requests wait in the same way with leases", async () => {
    const store = redisStore(redis, { prefix: uniquePrefix() });
    const lease = { max: 2, ttl: "100ms" } as const;
    const limits = fixedWindow({ limit: 3, window: "300ms" });
    const { sendRequest } = await serve({
      limits: { name: "leased", limits, store, storeTimeout: "1m", lease, wait: "10s" },
    });
    const answers = await Promise.all(Array.from({ length: 9 }, () => sendRequest()));
    expect(answers.map(({ status }) => status)).toEqual(new Array(9).fill(200));
    expect(answers.some(({ headers }) => headers["server-timing"] !== undefined)).toBe(true);
  });

  test("onDenied runs after the wait, and may allow the request", async () => {
    const limiter = createLimiter({ limits: hourly });
    const { sendRequest } = await serve({ limits: { limiter, wait: 20, onDenied: () => "allow" } });
    await sendRequest();
    const { status, headers } = await sendRequest();
    expect(status).toBe(200);
    expect(waitedMs(headers["server-timing"])).toBeGreaterThanOrEqual(19);
    expect(headers).not.toHaveProperty("retry-after");
  });

  test("numbers after a wait are those of the store's clock", async () => {
    const clock = manualClock();
    const limits = slidingLog({ limit: 1, window: "10s" });
    const limiter = createLimiter({
      name: "clock",
      limits,
      store: memoryStore({ clock: clock.now }),
    });
    const { sendRequest } = await serve({ limits: { limiter, wait: 5 } });
    await sendRequest();
    clock.advance(4_000);
    expect((await sendRequest()).headers["retry-after"]).toBe("6");
  });

  test.each([0, -1, 0.5, "11m", 600_001, "soon", null, true, Number.NaN])(
    "wait rejects %j at construction",
    async (wait) => {
      await expect(
        serve({ limits: { limits: hourly, wait: wait as never } }),
      ).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringMatching(/: wait must be /),
      });
    },
  );

  test.each([1, "2s", "10m", false])("wait: %j turns waiting off", async (wait) => {
    const { sendRequest } = await serve({ limits: { limits: hourly, wait: wait as never } });
    expect((await sendRequest()).status).toBe(200);
  });
});
