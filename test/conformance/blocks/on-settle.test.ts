import type { ChargeResult, Decision, Limit, Limiter, LimiterOptions, Store } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { HOUR, MINUTE, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

const SUBJECT = "guesser";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const ESCALATING = ["1m", "10m", "1h"] as const;
const SECOND = 1_000_000n;

const WINDOWS: Record<string, Limit> = {
  fixedWindow: fixedWindow({ limit: 10, window: "1h", block: ESCALATING }),
  "fixedWindow by the clock": fixedWindow({
    limit: 10,
    window: "1h",
    align: "clock",
    block: ESCALATING,
  }),
  "fixedWindow by the calendar": fixedWindow({ limit: 10, window: "day", block: ESCALATING }),
};
const guarded = WINDOWS["fixedWindow"] as Limit;

const unblocked = { allowed: false, blocked: false };

describeStores((tested) => {
  interface Opened {
    readonly time: MicroClock;
    readonly limiter: Limiter;
    readonly store: Store;
    /** Another limiter of the same counters. */
    again(options?: Partial<LimiterOptions>): Limiter;
  }

  function open(limits: Limit | readonly Limit[] = guarded): Opened {
    const time = new MicroClock(START);
    const store = tested.open(time.clock);
    const again = (options: Partial<LimiterOptions> = {}): Limiter =>
      createLimiter({
        ...STORE_ALONE,
        name: "login",
        limits,
        store,
        blockOn: "settle",
        ...options,
      } as LimiterOptions);
    return { time, limiter: again(), store, again };
  }

  /** Requests that are in flight at once. */
  function begin(limiter: Limiter, count: number): Promise<Decision[]> {
    return Promise.all(Array.from({ length: count }, () => limiter.consume(SUBJECT)));
  }

  function fail(limiter: Limiter, decisions: readonly Decision[]): Promise<ChargeResult[]> {
    return Promise.all(decisions.map((decision) => limiter.settle(decision, 1)));
  }

  /** As many failures, one after the other. */
  async function failures(limiter: Limiter, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) await fail(limiter, await begin(limiter, 1));
  }

  const look = (limiter: Limiter) => limiter.peek(SUBJECT, { cost: 0 });

  describe.each(Object.entries(WINDOWS))("%s", (_, limits) => {
    test("ten confirmed failures set a block, longer each time", async () => {
      const { time, limiter } = open(limits);
      for (const [span, wait] of [
        [MINUTE_MS, MINUTE],
        [10 * MINUTE_MS, 10n * MINUTE],
        [HOUR_MS, HOUR],
        [HOUR_MS, HOUR],
      ] as const) {
        await failures(limiter, 9);
        expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 1 });
        await failures(limiter, 1);
        const denied = { allowed: false, blocked: true, remaining: 0, retryAfterMs: span };
        expect(await limiter.consume(SUBJECT)).toMatchObject(denied);
        time.advance(wait - 1n);
        expect(await limiter.consume(SUBJECT)).toMatchObject({ ...denied, retryAfterMs: 1 });
        time.advance(1n);
        expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 10 });
      }
    });

    test("a refunded request counts nothing, and clears nothing", async () => {
      const { limiter } = open(limits);
      for (let i = 0; i < 9; i += 1) {
        await failures(limiter, 1);
        for (const give of [limiter.refund, (one: Decision) => limiter.settle(one, 0)]) {
          await give((await begin(limiter, 1))[0] as Decision);
        }
      }
      expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 1 });
      await failures(limiter, 1);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true });
    });

    test("of a thousand concurrent requests ten are admitted, and set one block once all have failed", async () => {
      const { time, limiter, again } = open(limits);
      const limiters = Array.from({ length: 8 }, () => again());
      const bursts = await Promise.all(limiters.map((one) => begin(one, 125)));
      const admitted = bursts.flatMap((burst, i) =>
        burst.filter(({ allowed }) => allowed).map((one) => [limiters[i] as Limiter, one] as const),
      );
      expect(admitted).toHaveLength(10);
      for (const denied of bursts.flat().filter(({ allowed }) => !allowed)) {
        expect(denied).toMatchObject(unblocked);
      }
      for (const [one, decision] of admitted.slice(0, 9)) await one.settle(decision, 1);
      expect(await limiter.consume(SUBJECT)).toMatchObject(unblocked);
      await Promise.all(admitted.map(([one, decision]) => one.settle(decision, 1)));
      const first = { blocked: true, retryAfterMs: MINUTE_MS };
      expect(await limiter.consume(SUBJECT)).toMatchObject(first);
      time.advance(MINUTE);
      await failures(limiter, 10);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: 10 * MINUTE_MS });
    });

    test("concurrent successes are denied with an ordinary wait, and set no block", async () => {
      const { limiter } = open(limits);
      const burst = await begin(limiter, 40);
      const denied = burst.filter(({ allowed }) => !allowed);
      expect(denied).toHaveLength(30);
      const { resetAfterMs } = await look(limiter);
      for (const one of denied) {
        expect(one).toMatchObject({ ...unblocked, retryAfterMs: resetAfterMs });
      }
      await Promise.all(burst.map((one) => limiter.settle(one, 0)));
      expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 10 });
    });

    test("a failure that is confirmed in a later window counts there", async () => {
      const { time, limiter } = open(limits);
      const held = await begin(limiter, 10);
      time.advance(24n * HOUR);
      await fail(limiter, held.slice(0, 9));
      expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 1 });
      await fail(limiter, held.slice(9));
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: MINUTE_MS });
    });

    test("failures of different windows are not added up", async () => {
      const { time, limiter } = open(limits);
      await failures(limiter, 9);
      time.advance(24n * HOUR);
      await failures(limiter, 9);
      expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 1 });
    });

    test("the limits at the time of the charge decide when it blocks", async () => {
      const { limiter } = open(limits);
      const more = { ...limits, limit: 100 } as Limit;
      for (let i = 0; i < 30; i += 1) {
        await limiter.settle(await limiter.consume(SUBJECT, { limits: more }), 1);
      }
      expect(await limiter.consume(SUBJECT)).toMatchObject(unblocked);
      const fewer = { ...limits, limit: 31 } as Limit;
      await limiter.settle(await limiter.consume(SUBJECT, { limits: fewer }), 1);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true });
    });
  });

  describe("no block is set on settle", () => {
    test("by denials, by charge, or by decisions that are never settled", async () => {
      const { limiter } = open();
      await begin(limiter, 9);
      await limiter.charge(SUBJECT, { cost: 50 });
      for (let i = 0; i < 20; i += 1) {
        expect(await limiter.consume(SUBJECT)).toMatchObject({
          ...unblocked,
          retryAfterMs: HOUR_MS,
        });
      }
      await expect(limiter.wait(SUBJECT, { timeout: "1ms" })).rejects.toMatchObject({
        code: "HEADGATE_WAIT_TIMEOUT",
      });
      const { blocked, limits } = await look(limiter);
      expect([blocked, limits[0]?.overdrawn]).toEqual([false, 49]);
    });

    test("in shadow mode, although confirmed units count", async () => {
      const { again } = open();
      const shadow = again({ shadow: true });
      await failures(shadow, 12);
      expect(await shadow.consume(SUBJECT)).toMatchObject({ wouldAllow: false, blocked: false });
    });

    test("under a manual block, although confirmed units count", async () => {
      const { time, limiter } = open();
      const held = await begin(limiter, 10);
      await limiter.block(SUBJECT, "30s");
      await fail(limiter, held.slice(0, 9));
      time.advance(30n * SECOND);
      expect(await limiter.consume(SUBJECT)).toMatchObject(unblocked);
      await fail(limiter, held.slice(9));
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: MINUTE_MS });
    });

    test("by another limit without block", async () => {
      const { limiter } = open([
        slidingLog({ limit: 3, window: "1h", name: "log" }),
        { ...guarded, name: "tries" },
      ]);
      await failures(limiter, 5);
      const denied = await limiter.consume(SUBJECT);
      expect(denied).toMatchObject({ ...unblocked, retryAfterMs: HOUR_MS });
      expect(denied.limits).toMatchObject([{ remaining: 0 }, { remaining: 7 }]);
    });
  });

  describe("during a block on settle", () => {
    test("failures from before the block no longer count", async () => {
      const { time, limiter } = open();
      const more = { ...guarded, limit: 100 } as Limit;
      const held = await Promise.all(
        Array.from({ length: 40 }, () => limiter.consume(SUBJECT, { limits: more })),
      );
      const few = { ...guarded, limit: 50 } as Limit;
      await limiter.settle(await limiter.consume(SUBJECT, { limits: few, cost: 10 }), 50);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: MINUTE_MS });
      await fail(limiter, held.slice(0, 20));
      time.advance(MINUTE);
      await fail(limiter, held.slice(20));
      expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 10 });
      await failures(limiter, 10);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: 10 * MINUTE_MS });
    });

    test("a charge counts, and earlier charges cannot be refunded", async () => {
      const { time, limiter } = open();
      const held = await limiter.consume(SUBJECT);
      await failures(limiter, 9);
      expect(await limiter.consume(SUBJECT)).toMatchObject(unblocked);
      await limiter.settle(held, 2);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true });
      await limiter.charge(SUBJECT, { cost: 4 });
      expect(await limiter.refund(held)).toBe(false);
      time.advance(MINUTE);
      expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 6 });
    });

    test("a reset ends the block and clears its level, and later failures count", async () => {
      const { time, limiter } = open();
      await failures(limiter, 10);
      expect(await limiter.reset(SUBJECT)).toBe(true);
      const held = await begin(limiter, 5);
      await limiter.reset(SUBJECT);
      await fail(limiter, held);
      expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 5 });
      await failures(limiter, 5);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: MINUTE_MS });
      time.advance(MINUTE);
      await limiter.unblock(SUBJECT);
      expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 10 });
    });

    test("the block level expires exactly one window after the block", async () => {
      for (const [early, span] of [
        [1n, 10 * MINUTE_MS],
        [0n, MINUTE_MS],
      ] as const) {
        const { time, limiter } = open();
        await failures(limiter, 10);
        time.advance(MINUTE + HOUR - early);
        await failures(limiter, 10);
        expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: span });
      }
    });
  });

  test("several units are confirmed as they are settled", async () => {
    const { limiter } = open();
    const five = await limiter.consume(SUBJECT, { cost: 5 });
    expect(await limiter.settle(five, 3)).toEqual({ charged: 3, overflow: 0, degraded: false });
    expect(await look(limiter)).toMatchObject({ remaining: 7 });
    const one = await limiter.consume(SUBJECT);
    expect(await limiter.settle(one, 6)).toEqual({ charged: 6, overflow: 0, degraded: false });
    expect(await look(limiter)).toMatchObject({ blocked: false, remaining: 1 });
    await failures(limiter, 1);
    expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true });
    // Once for each decision.
    expect(await limiter.settle(one, 6)).toMatchObject({ charged: 0 });
  });

  test("the longer of two blocks applies, and the other limit continues", async () => {
    const { time, limiter } = open([
      fixedWindow({ limit: 10, window: "1d", block: "1m", name: "day" }),
      fixedWindow({ limit: 10, window: "1h", block: "10m", name: "hour" }),
    ]);
    await failures(limiter, 10);
    expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true });
    time.advance(10n * MINUTE);
    const { limits } = await look(limiter);
    expect(limits.map(({ remaining }) => remaining)).toEqual([0, 10]);
  });

  test("of several dimensions, only the one with a full limit is blocked", async () => {
    const { limiter } = open([
      { ...guarded, per: "pair", name: "pair" },
      gcra({ limit: 100, window: "1h", per: "address", name: "address" }),
      fixedWindow({ limit: 50, window: "1h", block: "1d", per: "account", name: "account" }),
    ]);
    const subject = { pair: "a|ada", address: "a", account: "ada" };
    for (let i = 0; i < 10; i += 1) await limiter.settle(await limiter.consume(subject), 1);
    const denied = await limiter.consume(subject);
    expect(denied).toMatchObject({ blocked: true, retryAfterMs: MINUTE_MS });
    expect(denied.limits.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [false, 0],
      [true, 90],
      [true, 40],
    ]);
    const other = await limiter.consume({ ...subject, pair: "a|grace", account: "grace" });
    expect(other).toMatchObject({ allowed: true, blocked: false });
  });

  test("a cost by name is settled by name, and confirms the limits that are not named", async () => {
    const { limiter } = open([
      fixedWindow({ limit: 4, window: "1h", block: "1m", name: "tries" }),
      fixedWindow({ limit: 100, window: "1d", block: "10m", name: "work" }),
      gcra({ limit: 1_000, window: "1h", name: "calm" }),
    ]);
    const consume = (tries: number, work: number) =>
      limiter.consume(SUBJECT, { cost: { tries, work } });
    await limiter.settle(await consume(1, 30), { tries: 0 });
    await limiter.settle(await consume(0, 30), {});
    expect(await limiter.settle(await consume(3, 30), { work: 0 })).toMatchObject({
      charged: { tries: 3, work: 0, calm: 1 },
    });
    expect((await look(limiter)).limits).toMatchObject([
      { remaining: 1 },
      { remaining: 40 },
      { remaining: 997 },
    ]);
    // A limit that the cost leaves out is charged and confirmed when the settle names it.
    await limiter.settle(await consume(0, 1), { tries: 1, work: 0 });
    const denied = await limiter.consume(SUBJECT);
    expect(denied).toMatchObject({ blocked: true, retryAfterMs: MINUTE_MS });
    expect((await look(limiter)).limits[1]).toMatchObject({ remaining: 40 });
  });

  test("a decision of two limiters applies blockOn of each to its own limits", async () => {
    const { limiter, store, time } = open();
    const both = createLimiter({
      ...STORE_ALONE,
      name: "more",
      limits: fixedWindow({ limit: 12, window: "1h", block: "2m" }),
      store,
      extends: limiter,
    } as LimiterOptions);
    await failures(both, 10);
    expect(await both.consume(SUBJECT)).toMatchObject({ blocked: true, retryAfterMs: MINUTE_MS });
    time.advance(MINUTE);
    await begin(both, 2);
    expect(await both.consume(SUBJECT)).toMatchObject({
      blocked: true,
      retryAfterMs: 2 * MINUTE_MS,
    });
  });

  test("limiters of one name must have the same blockOn", async () => {
    const { again } = open();
    expect(() => again({ blockOn: "denial" })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_DUPLICATE_NAME",
        message: expect.stringContaining('}) with blockOn: "settle" is not fixedWindow({'),
      }),
    );
  });
});

test.each(["denials", true, null])("blockOn is not %j", (blockOn) => {
  expect(() => createLimiter({ limits: guarded, blockOn: blockOn as never })).toThrow(
    expect.objectContaining({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining('blockOn must be "denial" or "settle", got '),
    }),
  );
});
