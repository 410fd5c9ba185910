import { randomUUID } from "node:crypto";
import { createLimiter, fixedWindow, gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import type { RequestHandler } from "express";
import express from "express";
import { Redis } from "ioredis";
import type { RateLimiterRes } from "rate-limiter-flexible";
import {
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRedis,
  RLWrapperBlackAndWhite,
} from "rate-limiter-flexible";
import { afterEach, expect, inject, onTestFinished, vi } from "vitest";
import { serve } from "../../support/serve.ts";
import { page } from "../markdown.ts";
import { describeRows } from "./rows.ts";
import { tablesUnder } from "./side-by-side.ts";
import { from, sendAll, statusesOf } from "./traffic.ts";
import { unreachableRedis } from "./unreachable-redis.ts";

const it = page("docs/moving/from-rate-limiter-flexible.md");
const under = (heading: string) => tablesUnder(it, heading);

const start = Date.UTC(2030, 0, 1);
const minute = (limit: number) => fixedWindow({ limit, window: "60s" });

/** The options that both have. */
interface Side {
  consume(key: string, cost?: number): Promise<boolean>;
}

type Peer = Pick<RateLimiterMemory, "consume">;
type Ours = Pick<ReturnType<typeof createLimiter>, "consume">;

function sides(there: Peer, here: Ours): readonly Side[] {
  return [
    {
      consume: (key, cost) =>
        there.consume(key, cost).then(
          () => true,
          (reason) => {
            if (reason instanceof Error) throw reason;
            return false;
          },
        ),
    },
    { consume: async (key, cost = 1) => (await here.consume(key, { cost })).allowed },
  ];
}

/** Expects both to admit the same calls; each call has a time in seconds since the start, and a cost. */
async function expectSame(
  [there, here]: readonly [Peer, Ours],
  calls: readonly (readonly [second: number, cost: number])[],
  admitted: readonly boolean[],
): Promise<void> {
  for (const side of sides(there, here)) {
    const results: boolean[] = [];
    for (const [second, cost] of calls) {
      if (vi.isFakeTimers()) vi.setSystemTime(start + second * 1_000);
      results.push(await side.consume("ada", cost));
    }
    expect(results).toEqual(admitted);
    if (vi.isFakeTimers()) vi.setSystemTime(start);
  }
}

/** Freezes the clock that both read. */
function stoppedClock() {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  return memoryStore({ clock: () => Date.now() });
}

/** Connects to the tests' Redis until the test ends. */
function redis(): Redis {
  const client = new Redis(inject("redisSocket"));
  onTestFinished(() => client.disconnect());
  return client;
}

const three: readonly (readonly [number, number])[] = [
  [0, 1],
  [0, 1],
  [0, 1],
];

afterEach(() => {
  vi.useRealTimers();
});

/** Creates a limiter of two a minute on each side. */
const twice = () => ({
  before: new RateLimiterMemory({ points: 2, duration: 60 }),
  after: createLimiter({ limits: minute(2) }),
});

async function counts(): Promise<void> {
  const store = stoppedClock();
  await expectSame(
    [
      new RateLimiterMemory({ points: 2, duration: 60 }),
      createLimiter({ name: "duration", limits: minute(2), store }),
    ],
    [...three, [59, 1], [61, 2], [62, 1]],
    [true, true, false, false, true, false],
  );
}

/** Creates both limiters on one Redis. */
async function countsOnRedis(): Promise<void> {
  const storeClient = redis();
  const name = `rows-${randomUUID()}`;
  const before = new RateLimiterRedis({ storeClient, keyPrefix: name, points: 2, duration: 60 });
  const store = redisStore(storeClient);
  const after = createLimiter({ name, limits: minute(2), store, storeTimeout: "10s" });
  await expectSame([before, after], three, [true, true, false]);
}

/** Both space out the calls of a second: the other limiter by at least the rest of the window per call, Headgate by a third. */
async function waitsEvenly(): Promise<void> {
  const before = new RateLimiterMemory({ points: 3, duration: 1, execEvenly: true });
  const after = createLimiter({ limits: gcra({ limit: 3, window: "1s", burst: 1 }) });
  for (const call of [() => before.consume("ada"), () => after.wait("ada")]) {
    const begin = performance.now();
    for (let i = 0; i < 3; i += 1) await call();
    // The other limiter's calls also wait 333 and 333 ms; Node's timers may fire a millisecond early.
    expect(performance.now() - begin).toBeGreaterThanOrEqual(500);
  }
}

async function answersAway(): Promise<void> {
  const storeClient = unreachableRedis();
  const insuranceLimiter = new RateLimiterMemory({ points: 2, duration: 60 });
  await expectSame(
    [
      new RateLimiterRedis({ storeClient, points: 2, duration: 60, insuranceLimiter }),
      createLimiter({
        name: "insured",
        limits: minute(2),
        store: redisStore(storeClient),
        onUnavailable: "local",
      }),
    ],
    three,
    [true, true, false],
  );
}

describeRows(
  [...under("Limits and waiting"), ...under("The store")],
  {
    points: counts,
    duration: counts,
    async blockDuration() {
      const store = stoppedClock();
      const limits = fixedWindow({ limit: 2, window: "60s", block: "1h" });
      await expectSame(
        [
          new RateLimiterMemory({ points: 2, duration: 60, blockDuration: 3_600 }),
          createLimiter({ name: "block", limits, store }),
        ],
        [...three, [61, 1], [3_599, 1], [3_601, 1]],
        [true, true, false, false, false, true],
      );
    },
    execEvenly: waitsEvenly,
    async maxQueueSize() {
      const before = new RateLimiterQueue(new RateLimiterMemory({ points: 1, duration: 1 }), {
        maxQueueSize: 1,
      });
      const after = createLimiter({
        limits: fixedWindow({ limit: 1, window: "1s" }),
        maxQueue: 1,
      });
      for (const wait of [() => before.removeTokens(1), () => after.wait("jobs")]) {
        await wait();
        const settled = await Promise.allSettled([wait(), wait()]);
        expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      }
    },
    storeClient: countsOnRedis,
    async keyPrefix() {
      const storeClient = redis();
      for (const name of ["rows-login", "rows-search"]) {
        const store = redisStore(storeClient);
        await expectSame(
          [
            new RateLimiterRedis({ storeClient, keyPrefix: name, points: 2, duration: 60 }),
            createLimiter({ name, limits: minute(2), store, storeTimeout: "10s" }),
          ],
          three,
          [true, true, false],
        );
      }
    },
    useRedisPackage: countsOnRedis,
    useRedis3AndLowerPackage: countsOnRedis,
    timeoutMs: answersAway,
    insuranceLimiter: answersAway,
    rejectIfRedisNotReady: answersAway,
    rejectIfValkeyNotReady: answersAway,
  },
  ["blockOnConsumed", "execEvenlyMinDelayMs", "inMemoryBlockOnConsumed", "inMemoryBlockDuration"],
);

/** Returns the statuses of both; the other limiter receives the address. */
async function listed(there: object, here: object, addresses: readonly string[]) {
  const limiter = new RLWrapperBlackAndWhite({
    limiter: new RateLimiterMemory({ points: 1, duration: 60 }),
    ...there,
  });
  const theirs: RequestHandler = (req, res, next) => {
    limiter.consume(req.ip ?? "").then(
      () => next(),
      () => res.sendStatus(429),
    );
  };
  const ours = rateLimit({ limits: minute(1), ...here }) as RequestHandler;
  const statuses: number[][] = [];
  for (const middleware of [theirs, ours]) {
    const app = express().set("trust proxy", "loopback").use(middleware);
    app.use((_, res) => void res.sendStatus(200));
    statuses.push(statusesOf(await sendAll(await serve(app), addresses.map(from))));
  }
  return statuses;
}

const friend = "198.51.100.7";
const stranger = "203.0.113.1";

async function letsIn(there: object, here: object): Promise<void> {
  const statuses = await listed(there, here, [friend, friend, stranger, stranger]);
  expect(statuses).toEqual([
    [200, 200, 200, 429],
    [200, 200, 200, 429],
  ]);
}

async function keepsOut(there: object, here: object): Promise<void> {
  expect(await listed(there, here, [stranger, friend])).toEqual([
    [429, 200],
    [403, 200],
  ]);
}

describeRows(under("Lists"), {
  async whiteList() {
    await letsIn({ whiteList: [friend] }, { allowList: [friend] });
  },
  async blackList() {
    await keepsOut({ blackList: [stranger] }, { denyList: [stranger] });
    const both = [stranger];
    const statuses = await listed(
      { whiteList: both, blackList: both },
      { allowList: both, denyList: both },
      both,
    );
    expect(statuses).toEqual([[200], [403]]);
  },
  async isWhiteListed() {
    await letsIn(
      { isWhiteListed: (key: string) => key === friend },
      { allowList: (_: object, address: string) => address === friend },
    );
  },
  async isBlackListed() {
    await keepsOut(
      { isBlackListed: (key: string) => key === stranger },
      { denyList: (_: object, address: string) => address === stranger },
    );
  },
  async limiter() {
    const limiter = createLimiter({ limits: minute(1) });
    const statuses = await listed({}, { limits: undefined, limiter }, [stranger, stranger]);
    expect(statuses).toEqual([
      [200, 429],
      [200, 429],
    ]);
  },
});

/** Calls the other limiter, and returns its result for admitted and denied calls alike. */
const result = (call: Promise<RateLimiterRes>) => call.catch((denial: RateLimiterRes) => denial);

async function charges(): Promise<void> {
  const { before, after } = twice();
  const { remainingPoints } = await before.penalty("ada", 2);
  expect(await after.charge("ada", { cost: 2 })).not.toHaveProperty("remaining");
  expect((await after.peek("ada", { cost: 0 })).remaining).toBe(remainingPoints);
  await expectSame([before, after], three.slice(0, 1), [false]);
}

async function reports(): Promise<void> {
  const store = stoppedClock();
  const before = new RateLimiterMemory({ points: 2, duration: 60 });
  const after = createLimiter({ name: "reports", limits: minute(2), store });
  for (const at of [0, 10, 20]) {
    vi.setSystemTime(start + at * 1_000);
    const theirs = await result(before.consume("ada"));
    const ours = await after.consume("ada");
    expect(ours.remaining).toBe(theirs.remainingPoints);
    expect(Math.min(theirs.consumedPoints, 2)).toBe(ours.limit - ours.remaining);
    expect(ours.allowed ? ours.resetAfterMs : ours.retryAfterMs).toBe(theirs.msBeforeNext);
  }
}

describeRows(under("Methods and properties"), {
  async "consume(key, points)"() {
    const { before, after } = twice();
    await expectSame([before, after], [[0, 2], ...three.slice(1)], [true, false, false]);
  },
  async "get(key)"() {
    const { before, after } = twice();
    await before.consume("ada");
    await after.consume("ada");
    const { remaining } = await after.peek("ada", { cost: 0 });
    expect(remaining).toBe((await before.get("ada"))?.remainingPoints);
  },
  "penalty(key, points)": charges,
  async "reward(key, points)"() {
    const { before, after } = twice();
    await before.consume("ada", 2);
    const decision = await after.consume("ada", { cost: 2 });
    await before.reward("ada", 1);
    await after.settle(decision, 1);
    await expectSame([before, after], three.slice(1), [true, false]);
  },
  async "block(key, seconds)"() {
    const { before, after } = twice();
    await before.block("ada", 3_600);
    await after.block("ada", "1h");
    await expectSame([before, after], three.slice(2), [false]);
  },
  async "delete(key)"() {
    const { before, after } = twice();
    await expectSame([before, after], three, [true, true, false]);
    await before.delete("ada");
    await after.reset("ada");
    await expectSame([before, after], three, [true, true, false]);
    // The reset ends a block as well: in the other limiter, one call ends both.
    await before.block("ada", 3_600);
    await after.block("ada", "1h");
    await before.delete("ada");
    await after.unblock("ada");
    await after.reset("ada");
    await expectSame([before, after], three, [true, true, false]);
  },
  async "removeTokens(points, key)"() {
    const before = new RateLimiterQueue(new RateLimiterMemory({ points: 2, duration: 1 }));
    const after = createLimiter({ limits: fixedWindow({ limit: 2, window: "1s" }) });
    for (const wait of [
      () => before.removeTokens(1, "ada"),
      () => after.wait("ada", { cost: 1, timeout: "10s" }),
    ]) {
      const begin = performance.now();
      for (let i = 0; i < 3; i += 1) await wait();
      expect(performance.now() - begin).toBeGreaterThan(500);
    }
  },
  async "getTokensRemaining(key)"() {
    const before = new RateLimiterQueue(new RateLimiterMemory({ points: 2, duration: 60 }));
    const after = createLimiter({ limits: minute(2) });
    await before.removeTokens(1, "ada");
    await after.wait("ada");
    const { remaining } = await after.peek("ada", { cost: 0 });
    expect(remaining).toBe(await before.getTokensRemaining("ada"));
  },
  msBeforeNext: reports,
  remainingPoints: reports,
  consumedPoints: reports,
  async msDuration() {
    const { before, after } = twice();
    expect(after.limits[0]).toMatchObject({ windowMs: before.msDuration });
  },
});
