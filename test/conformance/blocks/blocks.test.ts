import type { Decision, Limit, Limiter, LimiterOptions, Store } from "@headgate/core";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
} from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { ALGORITHMS, HOUR, MINUTE, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

const SUBJECT = "guesser";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const ESCALATING = ["1m", "10m", "1h"] as const;

/** Ten an hour, and a lock-out of a minute, then ten, then an hour. */
const guarded = fixedWindow({ limit: 10, window: "1h", block: ESCALATING });

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
      createLimiter({ ...STORE_ALONE, name: "login", limits, store, ...options } as LimiterOptions);
    return { time, limiter: again(), store, again };
  }

  /** Spends all, and is denied once. */
  async function exceed(limiter: Limiter, limit = 10): Promise<Decision> {
    const spent = await limiter.consume(SUBJECT, { cost: limit });
    expect(spent).toMatchObject({ allowed: true, blocked: false });
    return limiter.consume(SUBJECT);
  }

  describe.each(Object.entries(ALGORITHMS))("%s", (_, of) => {
    const limits = { ...of(10), block: "1d" } as Limit;

    test("a denial blocks for exactly the duration, and then the limit has fully recovered", async () => {
      const { time, limiter } = open(limits);
      const blocked = { allowed: false, blocked: true, limit: 10, remaining: 0 };
      const whole = { retryAfterMs: DAY_MS, resetAfterMs: DAY_MS };
      const denied = await exceed(limiter);
      expect(denied).toMatchObject({ ...blocked, ...whole, wouldAllow: false });
      expect(denied.limits).toMatchObject([{ allowed: false, refillAfterMs: DAY_MS, ...whole }]);
      time.advance(12n * HOUR);
      expect(await limiter.consume(SUBJECT)).toMatchObject({
        ...blocked,
        retryAfterMs: DAY_MS / 2,
      });
      time.now = START + 24n * HOUR - 1n;
      for (const decide of [limiter.consume, limiter.peek]) {
        expect(await decide(SUBJECT)).toMatchObject({ ...blocked, retryAfterMs: 1 });
      }
      time.advance(1n);
      const { allowed, remaining, blocked: still } = await limiter.consume(SUBJECT);
      expect([allowed, remaining, still]).toEqual([true, 9, false]);
    });

    test("a charge from before a block cannot be refunded after it", async () => {
      const { time, limiter } = open(limits);
      const first = await limiter.consume(SUBJECT, { cost: 4 });
      await limiter.consume(SUBJECT, { cost: 6 });
      await limiter.consume(SUBJECT);
      expect(await limiter.refund(first)).toBe(false);
      time.advance(24n * HOUR);
      await limiter.consume(SUBJECT, { cost: 5 });
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 5 });
    });

    test("charge and settle count during a block", async () => {
      const { time, limiter } = open(limits);
      // No window ends with the block.
      time.advance(1n);
      const before = await limiter.consume(SUBJECT, { cost: 9 });
      const denied = await limiter.consume(SUBJECT, { cost: 2 });
      expect(denied).toMatchObject({ blocked: true, remaining: 0 });
      time.advance(24n * HOUR - 1n);
      await limiter.charge(SUBJECT, { cost: 3 });
      await limiter.settle(before, 11);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true, remaining: 0 });
      time.advance(1n);
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 5 });
    });

    test("the first of many concurrent denials sets the block", async () => {
      const { time, limiter } = open({ ...limits, block: ESCALATING } as Limit);
      const burst = () => Promise.all(Array.from({ length: 40 }, () => limiter.consume(SUBJECT)));
      for (const [span, wait] of [
        [MINUTE_MS, MINUTE],
        [10 * MINUTE_MS, 10n * MINUTE],
        [HOUR_MS, HOUR],
        [HOUR_MS, HOUR],
      ] as const) {
        const decisions = await burst();
        expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
        const denials = decisions.filter(({ allowed }) => !allowed);
        expect(new Set(denials.map(({ retryAfterMs }) => retryAfterMs))).toEqual(new Set([span]));
        time.advance(wait);
      }
    });
  });

  test("with a calendar window, the block level expires after the longest such window", async () => {
    const limits = fixedWindow({ limit: 10, window: "day", block: ["1m", "10m"] });
    for (const [early, minutes] of [
      [1n, 10],
      [0n, 1],
    ] as const) {
      const { time, limiter } = open(limits);
      expect(await exceed(limiter)).toMatchObject({ retryAfterMs: MINUTE_MS });
      time.advance(MINUTE + 48n * HOUR - early);
      expect(await exceed(limiter)).toMatchObject({ retryAfterMs: minutes * MINUTE_MS });
    }
  });

  describe("a block level", () => {
    /** Triggers a block, and waits until it ends. */
    async function serve({ limiter, time }: Opened, span: bigint): Promise<void> {
      expect(await exceed(limiter)).toMatchObject({ retryAfterMs: Number(span / 1_000n) });
      time.advance(span);
    }

    test("a block level expires exactly one window after the block", async () => {
      for (const [early, span] of [
        [1n, 10n * MINUTE],
        [0n, MINUTE],
      ] as const) {
        const opened = open();
        await serve(opened, MINUTE);
        opened.time.advance(HOUR - early);
        await serve(opened, span);
      }
    });

    test("a block level lasts at least as long as the last block", async () => {
      const limits = fixedWindow({ limit: 10, window: "1m", block: ["1h", "2h"] });
      for (const [early, span] of [
        [1n, 2n * HOUR],
        [0n, HOUR],
      ] as const) {
        const opened = open(limits);
        await serve(opened, HOUR);
        opened.time.advance(HOUR - early);
        await serve(opened, span);
      }
    });

    test("a block level lasts while a burst larger than the window recovers", async () => {
      const limits = gcra({ limit: 1, window: "1m", burst: 10, block: ["1s", "2s"] });
      for (const [early, span] of [
        [1n, 2_000_000n],
        [0n, 1_000_000n],
      ] as const) {
        const opened = open(limits);
        await serve(opened, 1_000_000n);
        opened.time.advance(10n * MINUTE - early);
        await serve(opened, span);
      }
    });

    test("a block of a limit with a short window does not shorten the level", async () => {
      const limits = [
        fixedWindow({ limit: 10, window: "1d", block: ["1m", "10m"], name: "long" }),
        fixedWindow({ limit: 5, window: "1s", block: ["1s", "2s"], name: "short" }),
      ];
      const { time, limiter } = open(limits);
      const spend = async (cost: number): Promise<Decision> => {
        time.advance(1_000_000n);
        return limiter.consume(SUBJECT, { cost });
      };
      await spend(5);
      await spend(5);
      expect(await spend(5)).toMatchObject({ blocked: true, retryAfterMs: MINUTE_MS });
      time.advance(MINUTE);
      await spend(5);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true, retryAfterMs: 2_000 });
      // More than the longer of the short limit's times, and far less than a day.
      time.advance(HOUR);
      await spend(5);
      expect(await spend(5)).toMatchObject({ blocked: true, retryAfterMs: 10 * MINUTE_MS });
    });

    test("a block level continues when the durations change", async () => {
      const { time, store, limiter } = open();
      await exceed(limiter);
      await limiter.close();
      const limits = fixedWindow({ limit: 10, window: "1h", block: ["5m", "20m"] });
      const other = createLimiter({ ...STORE_ALONE, name: "login", limits, store });
      const left = { blocked: true, retryAfterMs: MINUTE_MS };
      expect(await other.consume(SUBJECT)).toMatchObject(left);
      time.advance(MINUTE);
      expect(await exceed(other)).toMatchObject({ retryAfterMs: 20 * MINUTE_MS });
    });

    test("requests of a blocked subject do not raise the block level", async () => {
      const { time, limiter } = open();
      await exceed(limiter);
      for (let second = 1; second < 60; second += 1) {
        time.advance(1_000_000n);
        const retryAfterMs = MINUTE_MS - second * 1_000;
        expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true, retryAfterMs });
      }
      time.advance(1_000_000n);
      expect(await exceed(limiter)).toMatchObject({ retryAfterMs: 10 * MINUTE_MS });
    });
  });

  describe("no block is set", () => {
    const unblocked = { blocked: false, allowed: false };

    test("by a peek", async () => {
      const { limiter } = open();
      await limiter.consume(SUBJECT, { cost: 10 });
      expect(await limiter.peek(SUBJECT)).toMatchObject({ ...unblocked, retryAfterMs: HOUR_MS });
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ allowed: true });
      expect(await limiter.peek(SUBJECT)).toMatchObject(unblocked);
    });

    test("by a cost that never fits", async () => {
      const { limiter } = open();
      const never = { ...unblocked, retryAfterMs: Number.POSITIVE_INFINITY };
      expect(await limiter.consume(SUBJECT, { cost: 11 })).toMatchObject(never);
      await limiter.consume(SUBJECT);
      expect(await limiter.consume(SUBJECT, { cost: 11 })).toMatchObject(never);
      expect(await limiter.consume(SUBJECT, { cost: 9 })).toMatchObject({ allowed: true });
    });

    test("in shadow", async () => {
      const { again, limiter } = open();
      const shadow = again({ shadow: true });
      await shadow.consume(SUBJECT, { cost: 10 });
      const would = { allowed: true, wouldAllow: false, blocked: false };
      expect(await shadow.consume(SUBJECT)).toMatchObject(would);
      expect(await shadow.consume(SUBJECT)).toMatchObject(would);
      // A block that another limiter has set is reported.
      await limiter.consume(SUBJECT);
      expect(await shadow.consume(SUBJECT)).toMatchObject({ ...would, blocked: true });
    });

    test("by an attempt in the queue, nor by run with a timeout of 0", async () => {
      const { limiter } = open();
      await limiter.consume(SUBJECT, { cost: 10 });
      const tried = [
        limiter.wait(SUBJECT, { timeout: "1ms" }),
        limiter.run(SUBJECT, () => {}, { timeout: 0 }),
        limiter.run(SUBJECT, () => {}, { timeout: "1ms" }),
      ];
      const codes = (await Promise.allSettled(tried)).map(
        (one) => one.status === "rejected" && one.reason.code,
      );
      expect(codes).toEqual(["HEADGATE_WAIT_TIMEOUT", "HEADGATE_DENIED", "HEADGATE_WAIT_TIMEOUT"]);
      expect(await limiter.peek(SUBJECT)).toMatchObject(unblocked);
    });

    test("by a charge", async () => {
      const { limiter } = open();
      await limiter.charge(SUBJECT, { cost: 100 });
      expect(await limiter.peek(SUBJECT)).toMatchObject(unblocked);
    });

    test("by a limit without block", async () => {
      const { time, limiter } = open([
        fixedWindow({ limit: 1, window: "1s", name: "second" }),
        fixedWindow({ limit: 10, window: "1h", block: "1d", name: "hour" }),
      ]);
      for (let i = 0; i < 10; i += 1) {
        expect(await limiter.consume(SUBJECT)).toMatchObject({ allowed: true });
        expect(await limiter.consume(SUBJECT)).toMatchObject(
          i < 9 ? unblocked : { blocked: true, retryAfterMs: DAY_MS },
        );
        time.advance(1_000_000n);
      }
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true });
    });
  });

  test("when two limits deny, the longer block applies, and the other limit continues", async () => {
    const { time, limiter } = open([
      fixedWindow({ limit: 10, window: "1d", block: "1m", name: "day" }),
      slidingLog({ limit: 10, window: "1h", block: "10m", name: "hour" }),
    ]);
    const denied = await exceed(limiter);
    expect(denied).toMatchObject({ blocked: true, retryAfterMs: DAY_MS });
    expect(denied.limits).toMatchObject([
      { name: "day", allowed: false, remaining: 0, retryAfterMs: DAY_MS },
      { name: "hour", allowed: false, remaining: 0, retryAfterMs: 10 * MINUTE_MS },
    ]);
    time.advance(10n * MINUTE);
    const { limits } = await limiter.peek(SUBJECT, { cost: 0 });
    expect(limits.map(({ remaining }) => remaining)).toEqual([0, 10]);
  });

  test("a blocked counter denies the request without charging the others", async () => {
    const { limiter } = open([
      { ...guarded, per: "pair" },
      slidingWindow({ limit: 100, window: "1h", per: "address" }),
    ]);
    const subject = { pair: "a|ada", address: "a" };
    await limiter.consume(subject, { cost: 10 });
    for (let i = 0; i < 3; i += 1) {
      const { blocked, limits } = await limiter.consume(subject);
      expect(blocked).toBe(true);
      expect(limits).toMatchObject([
        { allowed: false, retryAfterMs: MINUTE_MS },
        { allowed: true, remaining: 90, retryAfterMs: 0 },
      ]);
    }
    // Another pair with the same address is not blocked.
    const other = await limiter.consume({ pair: "a|grace", address: "a" });
    expect(other).toMatchObject({ allowed: true, blocked: false });
  });

  describe("with a cost by name", () => {
    const limits = [
      fixedWindow({ limit: 10, window: "1h", name: "requests" }),
      slidingLog({ limit: 100, window: "1h", block: ["1m", "10m"], name: "tokens" }),
    ];

    test("only the limit that denied sets its block", async () => {
      const { time, limiter } = open(limits);
      await limiter.consume(SUBJECT, { cost: { tokens: 90 } });
      for (let i = 0; i < 9; i += 1) await limiter.consume(SUBJECT, { cost: { tokens: 0 } });
      const plain = await limiter.consume(SUBJECT, { cost: { tokens: 0 } });
      expect(plain).toMatchObject({ allowed: false, blocked: false });
      const never = await limiter.consume(SUBJECT, { cost: { tokens: 101 } });
      expect(never).toMatchObject({ blocked: false, retryAfterMs: Number.POSITIVE_INFINITY });
      const denied = await limiter.consume(SUBJECT, { cost: { requests: 0, tokens: 11 } });
      expect(denied).toMatchObject({ blocked: true, retryAfterMs: MINUTE_MS });
      expect(denied.limits.map(({ name }) => name)).toEqual(["tokens"]);
      time.advance(MINUTE);
      const after = await limiter.consume(SUBJECT, { cost: { requests: 0, tokens: 100 } });
      expect(after).toMatchObject({ allowed: true, remaining: 0 });
    });

    test("a blocked subject is denied even if the cost leaves out the limit that set the block", async () => {
      const { limiter } = open(limits);
      await limiter.consume(SUBJECT, { cost: { tokens: 100 } });
      await limiter.consume(SUBJECT);
      const left = { allowed: false, blocked: true, remaining: 0, retryAfterMs: MINUTE_MS };
      for (const decide of [limiter.consume, limiter.peek]) {
        const denied = await decide(SUBJECT, { cost: { tokens: 0 } });
        expect(denied).toMatchObject(left);
        expect(denied.limits).toMatchObject([{ name: "requests", allowed: false }]);
      }
      await limiter.unblock(SUBJECT);
      await limiter.block(SUBJECT, "1h");
      const byHand = await limiter.consume(SUBJECT, { cost: { requests: 0 } });
      expect(byHand).toMatchObject({ blocked: true, retryAfterMs: HOUR_MS });
    });

    test("concurrent denials set one block", async () => {
      const { limiter } = open(limits);
      const pending = [60, 60, 60, 60, 40, 1].map((tokens) =>
        limiter.consume(SUBJECT, { cost: { tokens } }),
      );
      const decisions = await Promise.all(pending);
      expect(decisions.map(({ allowed }) => allowed)).toEqual([
        true,
        false,
        false,
        false,
        false,
        false,
      ]);
      for (const { retryAfterMs } of decisions.slice(1)) expect(retryAfterMs).toBe(MINUTE_MS);
    });
  });

  test("a block stays in force for calls with other limits", async () => {
    const { time, limiter } = open();
    const limits = fixedWindow({ limit: 1_000, window: "1h", block: ESCALATING });
    await exceed(limiter);
    expect(await limiter.consume(SUBJECT, { limits })).toMatchObject({
      blocked: true,
      limit: 1_000,
    });
    time.advance(MINUTE);
    await limiter.consume(SUBJECT, { limits, cost: 500 });
    const denied = await limiter.consume(SUBJECT);
    expect(denied).toMatchObject({ blocked: true, retryAfterMs: 10 * MINUTE_MS });
  });

  test("a reset ends a block and clears its level", async () => {
    const { time, limiter } = open();
    await exceed(limiter);
    time.advance(MINUTE);
    await exceed(limiter);
    expect(await limiter.reset(SUBJECT)).toBe(true);
    expect(await exceed(limiter)).toMatchObject({ retryAfterMs: MINUTE_MS });
  });

  describe("a manual block", () => {
    const plain = gcra({ limit: 10, window: "1h" });

    test("a manual block works on any limiter and for new subjects, and keeps the counts", async () => {
      const { time, limiter, again } = open(plain);
      await limiter.block(SUBJECT, "1m");
      const blocked = { allowed: false, blocked: true, retryAfterMs: MINUTE_MS };
      expect(await again().consume(SUBJECT)).toMatchObject({ ...blocked, remaining: 0 });
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ ...blocked, remaining: 10 });
      await limiter.charge(SUBJECT, { cost: 4 });
      time.advance(MINUTE - 1n);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true, retryAfterMs: 1 });
      time.advance(1n);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: false, remaining: 5 });
    });

    test("a manual block denies by every limit of the counter", async () => {
      const { limiter } = open([plain, fixedWindow({ limit: 100, window: "1d" })]);
      await limiter.block(SUBJECT, "1h");
      const { limits } = await limiter.consume(SUBJECT);
      expect(limits.map(({ allowed, retryAfterMs }) => [allowed, retryAfterMs])).toEqual([
        [false, HOUR_MS],
        [false, HOUR_MS],
      ]);
    });

    test("charges from before a manual block can be refunded", async () => {
      const { limiter } = open(plain);
      const taken = await limiter.consume(SUBJECT, { cost: 4 });
      await limiter.block(SUBJECT, "1h");
      expect(await limiter.refund(taken)).toBe(true);
      await limiter.unblock(SUBJECT);
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 10 });
    });

    test("a manual block shortens no other block, and sets no level", async () => {
      const { time, limiter } = open();
      await exceed(limiter);
      await limiter.block(SUBJECT, "1s");
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: MINUTE_MS });
      await limiter.block(SUBJECT, "2m");
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: 2 * MINUTE_MS });
      time.advance(2n * MINUTE);
      expect(await exceed(limiter)).toMatchObject({ retryAfterMs: 10 * MINUTE_MS });
    });

    test("a manual block survives a reset, which clears everything else", async () => {
      const { time, limiter } = open();
      await exceed(limiter);
      await limiter.block(SUBJECT, "1h");
      expect(await limiter.reset(SUBJECT)).toBe(true);
      expect(await limiter.consume(SUBJECT)).toMatchObject({
        blocked: true,
        retryAfterMs: HOUR_MS,
      });
      expect(await limiter.reset(SUBJECT)).toBe(true);
      time.advance(HOUR - 1n);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ blocked: true, retryAfterMs: 1 });
      time.advance(1n);
      expect(await exceed(limiter)).toMatchObject({ retryAfterMs: MINUTE_MS });
    });

    test.each<[string, Limit]>([
      ...Object.entries(ALGORITHMS).map(([name, of]): [string, Limit] => [name, of(10)]),
      ["fixedWindow by the calendar", fixedWindow({ limit: 10, window: "month" })],
    ])("a manual block survives a reset: %s", async (_, limits) => {
      const { time, limiter } = open(limits);
      const taken = await limiter.consume(SUBJECT, { cost: 7 });
      await limiter.block(SUBJECT, "2h");
      expect(await limiter.reset(SUBJECT)).toBe(true);
      expect(await limiter.refund(taken)).toBe(false);
      const { blocked, remaining } = await limiter.peek(SUBJECT, { cost: 0 });
      expect([blocked, remaining]).toEqual([true, 10]);
      time.advance(2n * HOUR);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ allowed: true, remaining: 9 });
    });

    test.each<[string, readonly Limit[]]>([
      ["alone", [concurrency({ limit: 2, ttl: "1d" })]],
      [
        "together with limits of units",
        [concurrency({ limit: 2, ttl: "1d" }), gcra({ limit: 9, window: "1h" })],
      ],
    ])(
      "a manual block denies new slots, and takes away none that is held: %s",
      async (_, limits) => {
        const { time, limiter } = open(limits);
        const held = await limiter.consume(SUBJECT);
        await limiter.block(SUBJECT, "1h");
        const denied = { allowed: false, blocked: true, retryAfterMs: HOUR_MS };
        expect(await limiter.consume(SUBJECT)).toMatchObject(denied);
        time.advance(HOUR);
        const last = await limiter.consume(SUBJECT);
        expect(last).toMatchObject({ allowed: true, blocked: false });
        const full = { allowed: false, blocked: false, retryAfterMs: 1_000 };
        expect(await limiter.consume(SUBJECT)).toMatchObject(full);
        await limiter.block(SUBJECT, "1h");
        expect(await limiter.release(held)).toBe(true);
        expect(await limiter.release(last)).toBe(true);
        expect(await limiter.consume(SUBJECT)).toMatchObject(denied);
        expect(await limiter.unblock(SUBJECT)).toBe(true);
        expect(await limiter.consume(SUBJECT)).toMatchObject({ allowed: true });
      },
    );

    test("unblock ends manual blocks and those of limits, and keeps the level", async () => {
      const { limiter } = open();
      expect(await limiter.unblock(SUBJECT)).toBe(false);
      await limiter.block(SUBJECT, "1h");
      expect(await limiter.unblock(SUBJECT)).toBe(true);
      expect(await limiter.unblock(SUBJECT)).toBe(false);
      await exceed(limiter);
      expect(await limiter.unblock(SUBJECT)).toBe(true);
      expect(await exceed(limiter)).toMatchObject({ retryAfterMs: 10 * MINUTE_MS });
    });

    test("a manual block applies to each named dimension, and to all clients only if global is named", async () => {
      const { limiter } = open([
        { ...plain, per: "user" },
        { ...plain, per: "global" },
      ]);
      await limiter.block({ user: "ada" }, "1h");
      expect(await limiter.consume({ user: "ada" })).toMatchObject({ blocked: true });
      expect(await limiter.consume({ user: "bob" })).toMatchObject({ blocked: false });
      await limiter.block({ global: "*" }, "1h");
      expect(await limiter.consume({ user: "bob" })).toMatchObject({ blocked: true });
      expect(await limiter.unblock({ global: "*" })).toBe(true);
      expect(await limiter.consume({ user: "bob" })).toMatchObject({ blocked: false });
      expect(await limiter.consume({ user: "ada" })).toMatchObject({ blocked: true });
    });

    test("a manual block lasts up to 366 days", async () => {
      const { limiter } = open();
      const { time } = open();
      await limiter.block(SUBJECT, "366d");
      time.advance(1n);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ retryAfterMs: 366 * DAY_MS });
      for (const duration of ["367d", 0, -1, 1.5, "soon", undefined, null]) {
        await expect(limiter.block(SUBJECT, duration as never)).rejects.toMatchObject({
          code: "HEADGATE_INVALID_OPTION",
        });
      }
    });
  });
});
