import type { Limit, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog, slidingWindow } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { STORE_ALONE } from "./store-alone.ts";

/*
 * What a decision costs Redis, in instructions: they hardly depend on what else the machine does. Counted as the difference of
 * two runs, the second one twice as long, so that what does not grow with the calls drops out.
 */

interface Counting {
  readonly client: Redis;
  count(calls: number, request: (calls: number) => Promise<void>): Promise<number>;
  close(): Promise<void>;
}

// A module without types.
const path: string = "../bench/instructions.mjs";
const { hasValgrind, startCounting } = (await import(path)) as {
  hasValgrind(): boolean;
  startCounting(): Promise<Counting>;
};

const isLong = process.env["HEADGATE_LONG"] === "1";
const ALONE = isLong ? 600 : 300;
/**
 * All at once, so that nearly all go in batches of 64: enough of those, for the interpreter collects its garbage now and then.
 */
const TOGETHER = 8_192;
/** On a busy machine, the server's clock ticks more often during a call, and fewer decisions share one: the least count is nearest. */
const COUNTS = 3;
const KNOWN = 50;
const ROOM = 50_000;

/** Between two sizes of the server's table, which it changes step by step, so that those who come first do not pay for that. */
const OTHERS = 6_000;

/** The server is fifty times slower here: of windows so long, nothing that was charged has drained meanwhile. */
const DAY = 24 * 3_600_000;
const one = (limit: number) => [gcra({ limit, window: DAY })];
const three = (limit: number) => [1, 2, 3].map((days) => gcra({ limit, window: days * DAY }));

/*
 * Two budgets are above what was aimed at, by what was measured: 59,000 for the first visit under three limits, and 94,000 for
 * a log that is full.
 */
const AT_ONCE = [
  { what: "one limit", limits: one, subjects: 1_000, most: 23_000 },
  ...(isLong ? [{ what: "three limits", limits: three, subjects: 1_000, most: 32_000 }] : []),
  { what: "one subject", limits: one, subjects: 1, most: 13_000 },
];

const missing = hasValgrind() ? undefined : "valgrind is not installed";
if (missing !== undefined) console.log(`instructions are not counted: ${missing}`);

describe.skipIf(missing !== undefined)("CPU instructions of a decision in Redis", () => {
  let counting: Counting;
  let version: string | undefined;
  const made: Limiter[] = [];

  beforeAll(async () => {
    counting = await startCounting();
    version = /^redis_version:(\d+\.\d+)/m.exec(await counting.client.info("server"))?.[1];
  });
  afterAll(async () => {
    for (const limiter of made) await limiter.close();
    await counting.close();
  });

  /** On a server that knows no scripts, whose interpreter is new. */
  async function limiterOf(limits: Limit[]): Promise<Limiter> {
    await counting.client.flushall();
    await counting.client.script("FLUSH");
    const store = requireStore(redisStore(counting.client));
    // To read the control record each second is no part of a decision, of which there are few in a second here.
    const remote = store.transport && { ...store.transport, followsControl: false };
    const uncontrolled = { ...store, transport: remote };
    const limiter = createLimiter({
      name: `budget-${made.length}`,
      limits,
      store: uncontrolled,
      ...STORE_ALONE,
    });
    made.push(limiter);
    return limiter;
  }

  /** Instructions of one call, each made when the one before was answered. */
  function countAlone(limiter: Limiter, allowed: boolean, nameOf: (i: number) => string) {
    let sent = 0;
    return counting.count(ALONE, async (calls) => {
      for (let i = 0; i < calls; i += 1) {
        sent += 1;
        const decision = await limiter.consume(nameOf(sent));
        expect(decision).toMatchObject({ allowed, source: "store" });
      }
    });
  }

  async function addOthers(): Promise<void> {
    const pipeline = counting.client.pipeline();
    for (let i = 0; i < OTHERS; i += 1) pipeline.set(`other-${i}`, "", "PX", DAY);
    await pipeline.exec();
  }

  /** Sends requests of the subjects that return, so often each. */
  async function introduce(limiter: Limiter, times = 1): Promise<void> {
    for (let i = 0; i < KNOWN * times; i += 1) await limiter.consume(known(i));
  }

  async function requireAtMost(what: string, count: () => Promise<number>, most: number) {
    const counts: number[] = [];
    do counts.push(await count());
    while (Math.min(...counts) > most && counts.length < COUNTS);
    const instructions = Math.min(...counts);
    console.log(`${what}: ${Math.round(instructions)} instructions, at most ${most}`);
    expect(instructions).toBeGreaterThan(5_000);
    // Other versions have another floor.
    if (version === "7.0") expect(instructions).toBeLessThanOrEqual(most);
  }

  test.each([
    { what: "one limit", limits: one, returns: 43_000, first: 53_000, denied: 42_500 },
    { what: "three limits", limits: three, returns: 49_500, first: 58_500, denied: 48_000 },
  ])(
    "a decision of $what takes few CPU instructions in Redis",
    async ({ what, limits, returns, first, denied }) => {
      const limiter = await limiterOf(limits(ROOM));
      await introduce(limiter);
      await requireAtMost(`${what}, returns`, () => countAlone(limiter, true, known), returns);
      await addOthers();
      await requireAtMost(
        `${what}, first`,
        () => countAlone(limiter, true, (i) => `new-${i}`),
        first,
      );
      const full = await limiterOf(limits(1));
      await introduce(full);
      await requireAtMost(`${what}, denied`, () => countAlone(full, false, known), denied);
    },
  );

  test.each(AT_ONCE)(
    "a decision of $what takes fewer CPU instructions in batches of 64",
    async ({ what, limits, subjects, most }) => {
      const limiter = await limiterOf(limits(2 * ROOM));
      const request = async (calls: number) => {
        const sent = Array.from({ length: calls }, (_, i) =>
          limiter.consume(`user-${i % subjects}`),
        );
        for (const { allowed } of await Promise.all(sent)) expect(allowed).toBe(true);
      };
      await request(1_000);
      await requireAtMost(`batches, ${what}`, () => counting.count(TOGETHER, request), most);
    },
  );

  test.runIf(isLong)("a decision of a sliding window takes as few CPU instructions", async () => {
    const limiter = await limiterOf([slidingWindow({ limit: ROOM, window: DAY })]);
    await introduce(limiter);
    await requireAtMost("slidingWindow", () => countAlone(limiter, true, known), 56_000);
  });

  test.runIf(isLong)(
    "a decision of a calendar window takes few more CPU instructions",
    async () => {
      const limiter = await limiterOf([fixedWindow({ limit: ROOM, window: "month" })]);
      await introduce(limiter);
      await requireAtMost("calendar window", () => countAlone(limiter, true, known), 53_000);
    },
  );

  test.runIf(isLong)(
    "a decision of a full sliding log stays within its CPU instructions",
    async () => {
      const limiter = await limiterOf([slidingLog({ limit: 100, window: DAY })]);
      await introduce(limiter, 100);
      await requireAtMost("slidingLog, full", () => countAlone(limiter, false, known), 97_000);
    },
  );
});

function known(i: number): string {
  return `user-${i % KNOWN}`;
}
