import { setTimeout as delay } from "node:timers/promises";
import type { Limiter, LimiterOptions } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import express from "express";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { listen } from "../http/support/listen.ts";
import { createHttpClient } from "../http/support/send-request.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

let server: RedisProcess;
let proxy: TcpProxy;
let near: Redis;

beforeAll(async () => {
  server = await startRedis();
  proxy = await startTcpProxy(server);
  near = new Redis(server.socket);
});
afterAll(async () => {
  near.disconnect();
  await proxy.close();
  await server.stop();
});
beforeEach(async () => {
  proxy.pass();
  proxy.delayReplies(0);
  await near.flushall();
});

/** A limiter whose Redis answers so many milliseconds late. */
async function at(
  distanceMs: number,
  options: Omit<LimiterOptions, "name" | "store">,
): Promise<Limiter> {
  const client = new Redis(proxy.port, { retryStrategy: () => 20 });
  client.on("error", () => {});
  const store = redisStore(client);
  const limiter = createLimiter({ name: "far", store, storeTimeout: "5s", ...options });
  onTestFinished(async () => {
    await limiter.close();
    client.disconnect();
  });
  await limiter.ready();
  proxy.delayReplies(distanceMs);
  return limiter;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] as number;
}

/** The units of a subject that are charged in Redis. */
async function used(limits: LimiterOptions["limits"], subject: string, limit: number) {
  const { limits: states } = await createAdmin(redisStore(near)).inspect(
    { name: "far", limits },
    subject,
  );
  const { remaining = 0, overdrawn = 0 } = states[0] ?? {};
  return limit - remaining + overdrawn;
}

describe("a line for Redis at a distance", () => {
  test.each([0, 50])(
    "150 calls a second at a limit of 10,000 wait as long as consume does, %i ms away",
    async (distanceMs) => {
      const limiter = await at(distanceMs, { limits: gcra({ limit: 10_000, window: "1s" }) });
      const times = { consume: [] as number[], wait: [] as number[] };
      const calls: Promise<unknown>[] = [];
      const start = performance.now();
      for (let i = 0; i < 150; i += 1) {
        await delay(Math.max(0, start + i * 7 - performance.now()));
        // Both at the same time, so that a busy machine slows both down.
        for (const call of ["consume", "wait"] as const) {
          const from = performance.now();
          calls.push(limiter[call](call).then(() => times[call].push(performance.now() - from)));
        }
      }
      await Promise.all(calls);
      expect(times.wait).toHaveLength(150);
      expect(median(times.wait)).toBeLessThan(1.5 * median(times.consume) + 1);
    },
  );

  test.each([2, 50])("50 slots run 50 jobs at once, %i ms away", async (distanceMs) => {
    const limiter = await at(distanceMs, { limits: concurrency({ limit: 50, ttl: "1m" }) });
    let running = 0;
    const busy: number[] = [];
    let last = performance.now();
    const note = (change: number): void => {
      const now = performance.now();
      busy.push(running * (now - last));
      last = now;
      running += change;
    };
    const from = performance.now();
    let most = 0;
    await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        limiter.run("u", async () => {
          note(1);
          most = Math.max(most, running);
          await delay(200 + (i % 10) * 20);
          note(-1);
        }),
      ),
    );
    expect(most).toBe(50);
    // A slot is idle for a release and an attempt between two jobs, which take 290 ms on average; a busy machine adds to that.
    const average = busy.reduce((sum, one) => sum + one, 0) / (performance.now() - from);
    expect(average).toBeGreaterThan(50 * (290 / (290 + 2 * distanceMs)) * 0.6);
  });

  test("calls are admitted in their order while the limit changes by an override", async () => {
    const limits = fixedWindow({ limit: 20, window: "1h", name: "hourly" });
    const limiter = await at(10, { limits });
    const admitted: number[] = [];
    const calls = Array.from({ length: 120 }, (_, i) =>
      limiter.wait("u").then(() => admitted.push(i)),
    );
    const admin = createAdmin(redisStore(near));
    const change = async (limit: number) => {
      const { effectiveAt } = await admin.setOverride({
        limiter: "far",
        limits: { hourly: { limit } },
      });
      await delay(effectiveAt.getTime() - Date.now() + 1);
    };
    const admit = (count: number) => expect.poll(() => admitted.length).toBe(count);
    await admit(20);
    await change(100);
    await admit(100);
    await change(50);
    // The control record has reached this process, and whatever it admits by now is counted.
    await limiter.peek("u");
    expect(admitted).toHaveLength(100);
    await change(130);
    await Promise.all(calls);
    expect(admitted).toEqual(calls.map((_, i) => i));
    expect(await used(limits, "u", 20)).toBe(120);
  });

  test("close refunds the attempts in flight before it resolves", async () => {
    const limits = slidingLog({ limit: 1_000, window: "1h", name: "hourly" });
    const limiter = await at(50, { limits });
    const calls = Array.from({ length: 200 }, () => limiter.wait("u"));
    const ends = Promise.allSettled(calls);
    await calls[0];
    await delay(10);
    await limiter.close();
    const admitted = (await ends).filter(({ status }) => status === "fulfilled").length;
    expect(admitted).toBeLessThan(100);
    expect(await used(limits, "u", 1_000)).toBe(admitted);
  });

  test("a line survives an outage: this process decides meanwhile, and calls above its share wait for Redis", async () => {
    const limits = fixedWindow({ limit: 100, window: "1h" });
    const limiter = await at(2, { limits, storeTimeout: "100ms", localShare: 0.1 });
    proxy.swallow();
    const small = await limiter.wait("u", { cost: 5 });
    expect(small).toMatchObject({ degraded: true, source: "local" });
    // More than the share of this process: only Redis can admit it.
    const large = limiter.wait("u", { cost: 60 });
    const behind = limiter.wait("u", { cost: 1 });
    await delay(300);
    const from = performance.now();
    proxy.pass();
    expect(await large).toMatchObject({ allowed: true, source: "store" });
    expect(await behind).toMatchObject({ allowed: true, source: "store" });
    expect(performance.now() - from).toBeLessThan(5_000);
  });
});

test("honest requests of Express with a wait of one second are all served, 10 ms away from Redis", async () => {
  const limiter = await at(10, { limits: gcra({ limit: 400, window: "1s", burst: 20 }) });
  const app = express();
  app.use(rateLimit({ limiter, key: () => "everybody", wait: "1s" }));
  app.get("/", (_req, res) => void res.send("ok"));
  const http = await listen(app);
  const { sendRequest, end } = createHttpClient(http.address() as { port: number });
  onTestFinished(end);
  const answers: Promise<{ status: number }>[] = [];
  // Groups of 40, 160 requests a second: half of each group has to wait for the pace.
  for (let group = 0; group < 4; group += 1) {
    for (let i = 0; i < 40; i += 1) answers.push(sendRequest());
    await delay(250);
  }
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses).toEqual(new Array(160).fill(200));
});

test("a request that may wait spends its storeTimeout once, also if it reads operators' changes first", async () => {
  const client = new Redis(proxy.port);
  onTestFinished(() => client.disconnect());
  await client.ping();
  const limits = gcra({ limit: 1, window: "1s" });
  // The server knows the scripts, so each call takes one round trip.
  const known = createLimiter({ name: "known", limits, store: redisStore(near) });
  onTestFinished(() => known.close());
  await known.ready();
  await known.wait("u");
  const limit = rateLimit({
    name: "far",
    limits,
    store: redisStore(client),
    storeTimeout: "1s",
    connectTimeout: "1s",
    onUnavailable: "deny",
    wait: "1m",
  });
  onTestFinished(() => limit.close());
  const http = await listen(express().use(limit, (_, res) => void res.send("ok")));
  const { sendRequest, end } = createHttpClient(http.address() as { port: number });
  onTestFinished(end);
  proxy.delayReplies(700);
  expect((await sendRequest()).status).toBe(503);
});
