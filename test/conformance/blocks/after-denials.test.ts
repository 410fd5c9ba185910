import type { Decision, Limit, Limiter, LimiterOptions } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, gcra } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { ALGORITHMS, HOUR, MINUTE, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * Ten denials by a limit within its window block the subject. What random histories of such limits come to is in blocks/oracle.test.ts
 * and twins.test.ts.
 */

const SUBJECT = "scanner";
const HOUR_MS = 3_600_000;

const BAN = { after: 10, for: "1d" } as const;
const DAY_MS = 24 * HOUR_MS;

const BANNING: Record<string, Limit> = {
  ...Object.fromEntries(
    Object.entries(ALGORITHMS).map(([name, make]) => [name, { ...make(2), block: BAN } as Limit]),
  ),
  "fixedWindow by the calendar": fixedWindow({ limit: 2, window: "day", block: BAN }),
};
const guarded = BANNING["fixedWindow"] as Limit;

const unblocked = { allowed: false, blocked: false };
const banned = { allowed: false, blocked: true, remaining: 0, retryAfterMs: DAY_MS };

describeStores((tested) => {
  interface Opened {
    readonly time: MicroClock;
    readonly limiter: Limiter;
    /** Another limiter of the same counters. */
    again(options?: Partial<LimiterOptions>): Limiter;
  }

  function open(
    limits: Limit | readonly Limit[] = guarded,
    common: Partial<LimiterOptions> = {},
  ): Opened {
    const time = new MicroClock(START);
    const store = tested.open(time.clock);
    const again = (options: Partial<LimiterOptions> = {}): Limiter =>
      createLimiter({
        ...STORE_ALONE,
        name: "api",
        limits,
        store,
        ...common,
        ...options,
      } as LimiterOptions);
    return { time, limiter: again(), again };
  }

  /** Uses up the limit, and is denied `times` times. Returns the last decision. */
  async function deny(limiter: Limiter, times: number, subject = SUBJECT): Promise<Decision> {
    while ((await limiter.peek(subject)).allowed) await limiter.consume(subject);
    for (let i = 1; i < times; i += 1) {
      expect(await limiter.consume(subject)).toMatchObject(unblocked);
    }
    return limiter.consume(subject);
  }

  describe.each(Object.entries(BANNING))("%s", (_, limits) => {
    test("the tenth denial sets the block, and no earlier one", async () => {
      const { time, limiter } = open(limits);
      expect(await deny(limiter, 9)).toMatchObject(unblocked);
      expect(await limiter.consume(SUBJECT)).toMatchObject(banned);
      time.advance(24n * HOUR - 1n);
      expect(await limiter.consume(SUBJECT)).toMatchObject({ ...banned, retryAfterMs: 1 });
      time.advance(1n);
      expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({
        blocked: false,
        remaining: 2,
      });
      // The count began anew.
      expect(await deny(limiter, 9)).toMatchObject(unblocked);
    });

    test("of a thousand concurrent requests, ten are denied before the block", async () => {
      const { limiter } = open(limits);
      const burst = await Promise.all(
        Array.from({ length: 1_000 }, () => limiter.consume(SUBJECT)),
      );
      expect(burst.filter(({ allowed }) => allowed)).toHaveLength(2);
      expect(burst.filter(({ allowed, blocked }) => !allowed && !blocked)).toHaveLength(9);
      expect(burst.filter(({ blocked }) => blocked)).toHaveLength(989);
    });
  });

  test("the denial count expires one window after the first denial", async () => {
    const { time, limiter } = open();
    expect(await deny(limiter, 9)).toMatchObject(unblocked);
    time.advance(HOUR - 1n);
    expect(await limiter.consume(SUBJECT)).toMatchObject(banned);

    await limiter.unblock(SUBJECT);
    expect(await deny(limiter, 9)).toMatchObject(unblocked);
    time.advance(HOUR);
    expect(await deny(limiter, 9)).toMatchObject(unblocked);
    expect(await limiter.consume(SUBJECT)).toMatchObject(banned);
  });

  test("the denial count lives as long as full recovery takes, if that is longer", async () => {
    const { time, limiter } = open(
      gcra({ limit: 2, window: "1h", burst: 4, block: { after: 3, for: "1d" } }),
    );
    expect(await deny(limiter, 2)).toMatchObject(unblocked);
    time.advance(2n * HOUR - 1n);
    await deny(limiter, 1);
    expect((await limiter.consume(SUBJECT)).blocked).toBe(true);
  });

  test("each consecutive block has the next duration of the list", async () => {
    const { time, limiter } = open(
      fixedWindow({ limit: 2, window: "1h", block: { after: 3, for: ["1m", "1h"] } }),
    );
    for (const [span, wait] of [
      [60_000, MINUTE],
      [HOUR_MS, HOUR],
      [HOUR_MS, HOUR],
    ] as const) {
      expect(await deny(limiter, 3)).toMatchObject({ blocked: true, retryAfterMs: span });
      time.advance(wait);
    }
  });

  test.each(Object.entries(BANNING))(
    "a cost above the whole limit counts for no block, however often it is denied (%s)",
    async (_, limits) => {
      for (const block of [BAN, "1d"] as const) {
        const { limiter } = open({ ...limits, block } as Limit);
        for (let i = 0; i < 20; i += 1) {
          const denied = { ...unblocked, degraded: false, retryAfterMs: Number.POSITIVE_INFINITY };
          expect(await limiter.consume(SUBJECT, { cost: 3 })).toMatchObject(denied);
        }
        // Neither are those denials remembered.
        if (block === BAN) expect(await deny(limiter, 9)).toMatchObject(unblocked);
        expect(await deny(limiter, 1)).toMatchObject(banned);
      }
    },
  );

  test("only denials by consume are counted", async () => {
    const { limiter, again } = open();
    const shadow = again({ shadow: true });
    await deny(limiter, 1);
    for (let i = 0; i < 20; i += 1) {
      await limiter.peek(SUBJECT);
      await shadow.consume(SUBJECT);
      await expect(limiter.run(SUBJECT, async () => {}, { timeout: 0 })).rejects.toThrow("denied");
    }
    expect(await limiter.peek(SUBJECT)).toMatchObject(unblocked);
    expect(await deny(limiter, 9)).toMatchObject(banned);
  });

  test("each limit counts its own denials, and the longer block applies", async () => {
    const { limiter } = open([
      fixedWindow({ name: "few", limit: 2, window: "1h", block: { after: 4, for: "1m" } }),
      fixedWindow({ name: "many", limit: 3, window: "1h", block: { after: 2, for: "1h" } }),
    ]);
    await limiter.consume(SUBJECT, { cost: { few: 0, many: 2 } });
    await limiter.consume(SUBJECT, { cost: { few: 2, many: 1 } });
    // A limit that a cost by name leaves out counts nothing.
    for (let i = 0; i < 3; i += 1) {
      const denied = await limiter.consume(SUBJECT, { cost: { few: 1, many: 0 } });
      expect(denied).toMatchObject(unblocked);
    }
    expect(await limiter.consume(SUBJECT, { cost: { few: 0, many: 1 } })).toMatchObject(unblocked);
    const denied = await limiter.consume(SUBJECT);
    expect(denied).toMatchObject({ blocked: true, retryAfterMs: HOUR_MS });
  });

  test("a denial counts nothing for subjects of other dimensions", async () => {
    const limits = [
      fixedWindow({ per: "ip", limit: 2, window: "1h", block: { after: 3, for: "1d" } }),
      fixedWindow({ per: "user", limit: 100, window: "1h", block: { after: 3, for: "1d" } }),
    ];
    const { limiter } = open(limits);
    const subject = { ip: "203.0.113.7", user: "ada" };
    for (let i = 0; i < 5; i += 1) await limiter.consume(subject);
    expect(await limiter.consume(subject)).toMatchObject({ blocked: true });
    const elsewhere = await limiter.consume({ ...subject, ip: "203.0.113.8" });
    expect(elsewhere).toMatchObject({ allowed: true, remaining: 1 });
  });

  test("a denial by a concurrency limit counts no denial for a block", async () => {
    const { limiter } = open([
      fixedWindow({ limit: 2, window: "1h", block: { after: 1, for: "1d" } }),
      concurrency({ limit: 1, ttl: "1m" }),
    ]);
    await limiter.consume(SUBJECT);
    for (let i = 0; i < 5; i += 1) {
      expect(await limiter.consume(SUBJECT)).toMatchObject(unblocked);
    }
    expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ blocked: false });
  });

  test('with blockOn: "settle", limits that block after denials ignore confirmed units', async () => {
    const { again, limiter } = open(
      [
        fixedWindow({ name: "failures", limit: 4, window: "1h", block: "1m" }),
        fixedWindow({ name: "tries", limit: 2, window: "1d", block: BAN }),
      ],
      { blockOn: "settle" },
    );
    for (const _ of [1, 2]) await limiter.settle(await limiter.consume(SUBJECT), 1);
    expect(await deny(limiter, 9)).toMatchObject(unblocked);
    expect(await again().consume(SUBJECT)).toMatchObject(banned);

    // The other limiter continues with the stored denials.
    const other = "other";
    const settled = { cost: { failures: 1, tries: 0 } };
    for (let i = 0; i < 4; i += 1) {
      await limiter.settle(await limiter.consume(other, settled), settled.cost);
    }
    expect(await limiter.consume(other)).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
  });

  test("reset and unblock clear the denial count", async () => {
    const { limiter } = open();
    await deny(limiter, 9);
    await limiter.reset(SUBJECT);
    expect(await deny(limiter, 9)).toMatchObject(unblocked);
    expect(await limiter.consume(SUBJECT)).toMatchObject(banned);
    expect(await limiter.unblock(SUBJECT)).toBe(true);
    expect(await limiter.peek(SUBJECT, { cost: 0 })).toMatchObject({ remaining: 2 });
    expect(await deny(limiter, 9)).toMatchObject(unblocked);
  });

  test("a manual block counts no denials, and leaves the count unchanged", async () => {
    const { limiter } = open();
    await deny(limiter, 8);
    await limiter.block(SUBJECT, "1m");
    for (let i = 0; i < 20; i += 1) await limiter.consume(SUBJECT);
    await limiter.unblock(SUBJECT);
    expect(await limiter.consume(SUBJECT)).toMatchObject(unblocked);
    expect(await limiter.consume(SUBJECT)).toMatchObject(banned);
  });

  test("the denial count continues when limits or block durations change", async () => {
    const { limiter, again } = open();
    await deny(limiter, 8);
    await limiter.close();
    const changed = again({
      limits: fixedWindow({ limit: 1, window: "1h", block: { after: 9, for: "1m" } }),
    });
    expect(await changed.consume(SUBJECT)).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
  });

  test("denials that the deny cache could answer are counted", async () => {
    const { limiter } = open(guarded, { denyCache: true });
    expect(await deny(limiter, 9)).toMatchObject({ ...unblocked, source: "store" });
    expect(await limiter.consume(SUBJECT)).toMatchObject({ ...banned, source: "store" });
  });

  test("per-call limits set blocks too, and share one if they differ only in their block", async () => {
    const { limiter } = open();
    const limits = (limit: number, after: number) =>
      fixedWindow({ limit, window: "1h", block: { ...BAN, after } });
    for (let i = 0; i < 3; i += 1) await limiter.consume(SUBJECT, { limits: limits(3, 10) });
    for (let i = 0; i < 9; i += 1) {
      expect(await limiter.consume(SUBJECT, { limits: limits(3, 10) })).toMatchObject(unblocked);
    }
    expect(await limiter.consume(SUBJECT)).toMatchObject(banned);
    expect(await limiter.consume(SUBJECT, { limits: limits(3, 11) })).toMatchObject(banned);
  });
});
