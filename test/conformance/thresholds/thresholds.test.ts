import { channel } from "node:diagnostics_channel";
import type { Limit, Limiter, LimiterOptions, ThresholdReached } from "@headgate/core";
import {
  CHANNELS,
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { HOUR, MINUTE, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { ThresholdRecorder } from "../support/record-thresholds.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * What `notifyAt` publishes. What random histories come to is in thresholds/oracle.test.ts, and what several processes and a Redis
 * that is away do to it in test/redis/thresholds.test.ts.
 */

const SUBJECT = "ada";
const DAY = 24n * HOUR;
const notifyAt = [0.8, 1];

/** Ten units an hour, and the time until a threshold may be published again. */
const NOTIFYING: Record<string, readonly [limit: Limit, again: bigint]> = {
  gcra: [gcra({ limit: 10, window: "1h", notifyAt }), HOUR],
  "gcra with a burst": [gcra({ limit: 5, burst: 10, window: "1h", notifyAt }), 2n * HOUR],
  tokenBucket: [tokenBucket({ capacity: 10, refill: 10, every: "1h", notifyAt }), HOUR],
  fixedWindow: [fixedWindow({ limit: 10, window: "1h", notifyAt }), HOUR],
  "fixedWindow by the clock": [
    fixedWindow({ limit: 10, window: "1h", align: "clock", notifyAt }),
    HOUR,
  ],
  "fixedWindow by the calendar": [
    fixedWindow({ limit: 10, window: "day", notifyAt }),
    DAY - (START % DAY),
  ],
  slidingWindow: [slidingWindow({ limit: 10, window: "1h", notifyAt }), HOUR],
  "slidingWindow in buckets": [
    slidingWindow({ limit: 10, window: "1h", buckets: 6, notifyAt }),
    HOUR,
  ],
  slidingLog: [slidingLog({ limit: 10, window: "1h", notifyAt }), HOUR],
};

describeStores((tested) => {
  interface Opened {
    readonly time: MicroClock;
    readonly recorder: ThresholdRecorder;
    readonly limiter: Limiter;
    /** Another limiter of the same counters. */
    again(options?: Partial<LimiterOptions>): Limiter;
  }

  let opened = 0;

  function open(
    limits: Limit | readonly Limit[],
    common: Partial<LimiterOptions> = {},
  ): Opened & { readonly name: string } {
    const time = new MicroClock(START);
    const store = tested.open(time.clock);
    opened += 1;
    const name = `thresholds-${opened}`;
    const recorder = new ThresholdRecorder();
    const again = (options: Partial<LimiterOptions> = {}): Limiter =>
      createLimiter({
        ...STORE_ALONE,
        name,
        limits,
        store,
        ...common,
        ...options,
      } as LimiterOptions);
    return { name, time, recorder, limiter: again(), again };
  }

  async function use(limiter: Limiter, times: number, subject: string = SUBJECT): Promise<void> {
    for (let i = 0; i < times; i += 1) await limiter.consume(subject);
  }

  describe.each(Object.entries(NOTIFYING))("%s", (_, [limits, again]) => {
    test("each threshold is published once, by the charge that reaches it", async () => {
      const { name, recorder, limiter } = open(limits);
      await use(limiter, 7);
      expect(recorder.takePairs(name)).toEqual([]);
      await limiter.peek(SUBJECT);
      await limiter.peek(SUBJECT, { cost: 3 });
      expect(recorder.takePairs(name)).toEqual([]);
      await limiter.consume(SUBJECT);
      expect(recorder.takePairs(name)).toEqual([[0.8, 8]]);
      await limiter.consume(SUBJECT);
      expect(recorder.takePairs(name)).toEqual([]);
      await limiter.consume(SUBJECT);
      expect(recorder.takePairs(name)).toEqual([[1, 10]]);
      // Denials charge nothing.
      await use(limiter, 5);
      expect(recorder.takePairs(name)).toEqual([]);
      await limiter.consume("grace", { cost: 10 });
      expect(recorder.takePairs(name)).toEqual([
        [0.8, 10],
        [1, 10],
      ]);
    });

    test("a threshold is published again after its window, and not before", async () => {
      const { name, time, recorder, limiter } = open(limits);
      await limiter.consume(SUBJECT, { cost: 8 });
      expect(recorder.takePairs(name)).toEqual([[0.8, 8]]);
      time.advance(again - 1n);
      await limiter.charge(SUBJECT, { cost: 8 });
      expect(recorder.takePairs(name).filter(([threshold]) => threshold === 0.8)).toEqual([]);
      time.advance(1n);
      await limiter.reset(SUBJECT);
      await limiter.consume(SUBJECT, { cost: 8 });
      expect(recorder.takePairs(name)).toEqual([[0.8, 8]]);
    });

    test("refunded units that are used again publish no threshold", async () => {
      const { name, time, recorder, limiter } = open(limits);
      for (let i = 0; i < 5; i += 1) {
        const decision = await limiter.consume(SUBJECT, { cost: 8 });
        expect(decision.allowed).toBe(true);
        expect(recorder.takePairs(name)).toEqual(i === 0 ? [[0.8, 8]] : []);
        expect(await limiter.refund(decision)).toBe(true);
        time.advance(1_000n);
      }
    });

    test("charge and settle publish thresholds too", async () => {
      const { name, recorder, limiter } = open(limits);
      const decision = await limiter.consume(SUBJECT, { cost: 2 });
      await limiter.settle(decision, 8);
      expect(recorder.takePairs(name)).toEqual([[0.8, 8]]);
      await limiter.charge(SUBJECT, { cost: 7 });
      expect(recorder.takePairs(name)).toEqual([[1, 15]]);
      await limiter.charge(SUBJECT, { cost: 7 });
      expect(recorder.takePairs(name)).toEqual([]);
    });
  });

  test("a threshold message names the limiter, subject, limit and usage", async () => {
    const month = fixedWindow({
      name: "month",
      limit: 10,
      window: "month",
      per: "tenant",
      notifyAt,
    });
    const { name, recorder, limiter, time } = open([month, gcra({ limit: 100, window: "1m" })]);
    const now = new Date(Number(time.now / 1_000n));
    const [begins, ends] = [0, 1].map((more) =>
      Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + more),
    ) as [number, number];
    const expected: ThresholdReached = {
      limiter: name,
      plugin: undefined,
      subject: { tenant: "acme" },
      name: "month",
      per: "tenant",
      limit: 10,
      windowMs: ends - begins,
      threshold: 0.8,
      used: 8,
      resetAfterMs: ends - now.getTime(),
      shadow: false,
    };
    await limiter.consume({ tenant: "acme", default: "ada" }, { cost: 8 });
    expect(recorder.take(name)).toEqual([expected]);
    // A charge publishes the same.
    await limiter.charge({ tenant: "other", default: "ada" }, { cost: 8 });
    expect(recorder.take(name)).toEqual([{ ...expected, subject: { tenant: "other" } }]);
  });

  test("a global limit publishes thresholds for the global subject", async () => {
    const limits = fixedWindow({ limit: 10, window: "1h", per: "global", notifyAt });
    const { name, recorder, limiter } = open(limits);
    await limiter.consume("ada", { cost: 8 });
    expect(recorder.take(name)).toMatchObject([{ subject: { global: "*" }, per: "global" }]);
  });

  test("each charged limit of a call publishes its own thresholds", async () => {
    const { name, recorder, limiter } = open([
      fixedWindow({ name: "hour", limit: 10, window: "1h", notifyAt: [0.5] }),
      slidingLog({ name: "day", limit: 20, window: "1d", notifyAt: [0.5, 0.75] }),
      gcra({ name: "burst", limit: 100, window: "1m" }),
      concurrency({ limit: 100, ttl: "1m" }),
    ]);
    const published = () => recorder.take(name).map((one) => [one.name, one.threshold, one.used]);
    await limiter.consume(SUBJECT, { cost: 5 });
    expect(published()).toEqual([["hour", 0.5, 5]]);
    await limiter.consume(SUBJECT, { cost: { hour: 0, day: 10, burst: 0 } });
    expect(published()).toEqual([
      ["day", 0.5, 15],
      ["day", 0.75, 15],
    ]);
    await limiter.charge(SUBJECT, { cost: { hour: 0, day: 1, burst: 1 } });
    expect(published()).toEqual([]);
    await limiter.charge("grace", { cost: { hour: 6, day: 12, burst: 1 } });
    expect(published().toSorted()).toEqual([
      ["day", 0.5, 12],
      ["hour", 0.5, 6],
    ]);
  });

  test("a limit with a cost of 0 publishes nothing, although its threshold has been reached", async () => {
    const limitsWith = (more: object) => [
      fixedWindow({ name: "hour", limit: 10, window: "1h", ...more }),
      slidingLog({ name: "day", limit: 100, window: "1d", ...more }),
    ];
    const { name, recorder, limiter } = open(limitsWith({}));
    const published = () => recorder.take(name).map((one) => [one.name, one.threshold, one.used]);
    const notifying = { limits: limitsWith({ notifyAt }) };
    await limiter.consume(SUBJECT, { cost: { hour: 9, day: 1 } });
    await limiter.consume(SUBJECT, { cost: { hour: 0, day: 1 }, ...notifying });
    await limiter.charge(SUBJECT, { cost: { hour: 0, day: 1 }, ...notifying });
    expect(published()).toEqual([]);
    await limiter.consume(SUBJECT, { cost: { hour: 1, day: 0 }, ...notifying });
    expect(published()).toEqual([
      ["hour", 0.8, 10],
      ["hour", 1, 10],
    ]);
  });

  test("a share that a double cannot represent is rounded to the right number of units", async () => {
    const limits = fixedWindow({ limit: 100, window: "1h", notifyAt: [0.07, 0.29, 0.57, 0.58] });
    const { name, recorder, limiter } = open(limits);
    for (let used = 1; used <= 60; used += 1) await limiter.consume(SUBJECT);
    expect(recorder.takePairs(name)).toEqual([
      [0.07, 7],
      [0.29, 29],
      [0.57, 57],
      [0.58, 58],
    ]);
  });

  test("a limit of 1 publishes at the first unit, and a limit of 0 never", async () => {
    const { name, recorder, limiter, again } = open(
      fixedWindow({ limit: 1, window: "1h", notifyAt }),
    );
    await limiter.consume(SUBJECT);
    expect(recorder.takePairs(name)).toEqual([
      [0.8, 1],
      [1, 1],
    ]);
    const nothing = fixedWindow({ limit: 0, window: "1h", notifyAt });
    await limiter.close();
    await again({ limits: nothing }).charge("grace", { cost: 5 });
    expect(recorder.takePairs(name)).toEqual([]);
  });

  test("a raised limit publishes at its new units, and a lowered one at its next charge", async () => {
    const { name, recorder, limiter } = open(fixedWindow({ limit: 10, window: "1h", notifyAt }));
    const of = (limit: number, more: object = { notifyAt }) => ({
      limits: fixedWindow({ limit, window: "1h", ...more }),
    });
    await limiter.consume(SUBJECT, { cost: 10 });
    expect(recorder.takePairs(name)).toHaveLength(2);
    await limiter.consume(SUBJECT, { cost: 5, ...of(20) });
    expect(recorder.takePairs(name)).toEqual([]);
    await limiter.consume(SUBJECT, of(20));
    expect(recorder.take(name)).toMatchObject([{ threshold: 0.8, used: 16, limit: 20 }]);

    await limiter.consume("grace", { cost: 15, ...of(100) });
    expect(recorder.takePairs(name)).toEqual([]);
    await limiter.charge("grace", { cost: 1 });
    expect(recorder.takePairs(name)).toEqual([
      [0.8, 16],
      [1, 16],
    ]);

    // Limits of a call say themselves whether they notify.
    await limiter.consume("joan", { cost: 9, ...of(10, {}) });
    expect(recorder.takePairs(name)).toEqual([]);
    await limiter.consume("joan", of(10, { notifyAt: [0.5] }));
    expect(recorder.takePairs(name)).toEqual([[0.5, 10]]);
  });

  test("concurrent requests with different notifyAt publish their own thresholds", async () => {
    const { name, recorder, limiter } = open(fixedWindow({ limit: 10, window: "1h" }));
    const at = (...shares: number[]) => ({
      cost: 2,
      limits: fixedWindow({ limit: 10, window: "1h", ...(shares[0] && { notifyAt: shares }) }),
    });
    // All scripts are known then, so that these go together.
    await Promise.all([at(0.1), at(0.1), at(), at()].map((how) => limiter.consume("grace", how)));
    recorder.take(name);
    await Promise.all(
      [at(0.2), at(0.4), at(0.6, 0.7), at(0.6)].map((how) => limiter.consume(SUBJECT, how)),
    );
    expect(recorder.takePairs(name)).toEqual([
      [0.2, 2],
      [0.4, 4],
      [0.6, 6],
    ]);
  });

  test("the count continues when notifyAt is added or removed", async () => {
    const plain = fixedWindow({ limit: 10, window: "1h" });
    const { name, recorder, limiter, again } = open(plain);
    await use(limiter, 9);
    await limiter.close();
    const notifying = again({ limits: { ...plain, notifyAt } });
    expect(await notifying.consume(SUBJECT)).toMatchObject({ allowed: true, remaining: 0 });
    expect(recorder.takePairs(name)).toEqual([
      [0.8, 10],
      [1, 10],
    ]);
    await notifying.close();
    expect(await again().consume(SUBJECT)).toMatchObject({ allowed: false });
  });

  test("thresholds are published anew after a reset", async () => {
    const { name, recorder, limiter } = open(fixedWindow({ limit: 10, window: "1h", notifyAt }));
    for (let i = 0; i < 3; i += 1) {
      await limiter.consume(SUBJECT, { cost: 8 });
      expect(recorder.takePairs(name)).toEqual([[0.8, 8]]);
      expect(await limiter.reset(SUBJECT)).toBe(true);
    }
    // Also where a block by hand stays.
    await limiter.consume(SUBJECT, { cost: 8 });
    await limiter.block(SUBJECT, "1m");
    await limiter.reset(SUBJECT);
    await limiter.unblock(SUBJECT);
    recorder.take(name);
    await limiter.consume(SUBJECT, { cost: 8 });
    expect(recorder.takePairs(name)).toEqual([[0.8, 8]]);
  });

  test("thresholds already published are not repeated after a block", async () => {
    const limits = fixedWindow({ limit: 10, window: "1h", block: "1m", notifyAt });
    const { name, time, recorder, limiter } = open(limits);
    await use(limiter, 11);
    expect(recorder.takePairs(name)).toEqual([
      [0.8, 8],
      [1, 10],
    ]);
    time.advance(MINUTE);
    await use(limiter, 10);
    expect(recorder.takePairs(name)).toEqual([]);
    await limiter.reset(SUBJECT);
    await use(limiter, 9);
    expect(recorder.takePairs(name)).toEqual([[0.8, 8]]);
  });

  test("thresholds are published with every kind of block", async () => {
    const { name, recorder, limiter } = open(
      [
        fixedWindow({ name: "kept", limit: 10, window: "1h", block: "1m", notifyAt: [0.5] }),
        slidingLog({
          name: "denials",
          limit: 10,
          window: "1h",
          block: { after: 2, for: "1m" },
          notifyAt: [0.6],
        }),
        fixedWindow({ name: "day", limit: 10, window: "day", block: "1m", notifyAt: [0.7] }),
      ],
      { blockOn: "settle" },
    );
    const published = () => recorder.take(name).map((one) => [one.name, one.threshold]);
    const decision = await limiter.consume(SUBJECT, { cost: 7 });
    expect(published().toSorted()).toEqual([
      ["day", 0.7],
      ["denials", 0.6],
      ["kept", 0.5],
    ]);
    await limiter.settle(decision, 7);
    await limiter.consume(SUBJECT, { cost: 4 });
    await limiter.consume(SUBJECT, { cost: 4 });
    expect(await limiter.peek(SUBJECT)).toMatchObject({ blocked: true });
    expect(published()).toEqual([]);
  });

  test("thresholds in shadow mode are marked as such", async () => {
    const limits = fixedWindow({ limit: 10, window: "1h", notifyAt });
    const { name, recorder, limiter } = open(limits, { shadow: true });
    await use(limiter, 12);
    expect(recorder.take(name)).toMatchObject([
      { threshold: 0.8, shadow: true },
      { threshold: 1, used: 10, shadow: true },
    ]);
  });

  test("a limiter that others extend publishes thresholds under its own name, once for all of them", async () => {
    const time = new MicroClock(START);
    const store = tested.open(time.clock);
    const recorder = new ThresholdRecorder();
    const common = { ...STORE_ALONE, store };
    const all = createLimiter({
      ...common,
      name: "all",
      limits: fixedWindow({ limit: 10, window: "1h", notifyAt }),
    });
    const routes = ["one", "two"].map((name) =>
      createLimiter({
        ...common,
        name,
        limits: fixedWindow({ limit: 8, window: "1h", notifyAt }),
        extends: all,
      }),
    );
    for (const route of [...routes, ...routes]) await route.consume(SUBJECT, { cost: 4 });
    expect(recorder.takePairs("all")).toEqual([[0.8, 8]]);
    expect(recorder.takePairs("one")).toEqual([]);
    await routes[0]?.charge(SUBJECT, { cost: 5 });
    expect(recorder.takePairs("all")).toEqual([[1, 13]]);
    expect(recorder.takePairs("one")).toHaveLength(2);
  });

  test("a subscriber that throws changes no decision", async () => {
    const { limiter } = open(fixedWindow({ limit: 1, window: "1h", notifyAt: [1] }));
    const thresholds = channel(CHANNELS.threshold);
    const fail = (): never => {
      throw new Error("no mail today");
    };
    thresholds.subscribe(fail);
    try {
      expect(await limiter.consume(SUBJECT)).toMatchObject({ allowed: true, degraded: false });
      expect(await limiter.charge("grace")).toMatchObject({ charged: 1, degraded: false });
      expect(await limiter.consume(SUBJECT)).toMatchObject({ allowed: false });
    } finally {
      thresholds.unsubscribe(fail);
    }
  });

  test("calls of wait publish thresholds too", async () => {
    const { name, recorder, limiter } = open(
      fixedWindow({ limit: 1, window: "1h", notifyAt: [1] }),
    );
    await limiter.wait(SUBJECT);
    expect(recorder.takePairs(name)).toEqual([[1, 1]]);
    await limiter.run("grace", async () => {});
    expect(recorder.takePairs(name)).toEqual([[1, 1]]);
  });
});
