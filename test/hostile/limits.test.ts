import { fc, test } from "@fast-check/vitest";
import type { Limit, Limiter } from "@headgate/core";
import { createLimiter, memoryStore, readPolicy } from "@headgate/core";
import { describe, expect } from "vitest";
import { Oracle } from "../conformance/oracle/oracle.ts";
import { Random } from "../conformance/random/random.ts";
import { randomCost, randomWait } from "../conformance/random/steps.ts";
import { claimSame } from "../conformance/support/claim.ts";
import { MicroClock } from "../conformance/support/micro-clock.ts";
import { garbage, orCode } from "./garbage.ts";
import { hostileText, runs } from "./hostile-texts.ts";

/** A limit is refused with a code, or decided as exact fractions would: there is no third way. */

const count = fc.oneof(
  fc.constantFrom<unknown>(1, 2, 3, 60, 1e6, 1e6 + 1, 1e9, 1e9 + 1, 1.5, "5"),
  fc.integer({ min: 1, max: 2e9 }),
  garbage,
);
const duration = fc.oneof(
  fc.constantFrom<unknown>(1, 999, "1s", "1m", "90s", "366d", "8784h", "8785h", "07s", "0s", "1w"),
  fc.integer({ min: 1, max: 4e10 }),
  garbage,
);
const name = fc.oneof(
  fc.constantFrom<unknown>("burst", " ", '"', "\\", "a,b;q=1"),
  hostileText,
  garbage,
);
const per = fc.oneof(fc.constantFrom<unknown>("default", "global", "ip", "__proto__"), garbage);
const align = fc.oneof(fc.constantFrom<unknown>("first", "clock", "Clock", null), garbage);
const windowOrDay = fc.oneof(
  duration,
  fc.constantFrom<unknown>("day", "week", "month", "year", "days", "Month"),
);
const timeZone = fc.oneof(
  fc.constantFrom<unknown>(undefined, "UTC", "Europe/Berlin", "Europe/Nowhere", "+01:00", null),
  garbage,
);
const buckets = fc.oneof(fc.constantFrom<unknown>(1, 2, 60, 61, 0), garbage);
const optional = { requiredKeys: ["algorithm"] as const };
const common = { name, per };

const OWN: Record<Limit["algorithm"], Record<string, fc.Arbitrary<unknown>>> = {
  gcra: { limit: count, window: duration, burst: count },
  tokenBucket: { capacity: count, refill: count, every: duration },
  fixedWindow: { limit: count, window: windowOrDay, align, timeZone },
  slidingWindow: { limit: count, window: duration, buckets },
  slidingLog: { limit: count, window: duration },
  concurrency: { limit: count, ttl: duration },
};

/** A right limit with some of its properties replaced, taken away or added. */
const anyLimit: fc.Arbitrary<unknown> = fc.oneof(
  ...Object.entries(OWN).map(([algorithm, own]) =>
    fc
      .tuple(
        fc.constantFrom(10, 1_000, 100_000),
        fc.record({ algorithm: fc.constant(algorithm), ...common, ...own }, optional as never),
        fc.subarray([...Object.keys(own), "name", "per"], { maxLength: 2 }),
      )
      .map(([limit, replaced, kept]) => {
        const right: Record<string, unknown> = {
          limit,
          window: "1m",
          capacity: limit,
          refill: limit,
          every: "1m",
          ttl: "1m",
        };
        const base = Object.fromEntries(
          Object.keys(own)
            .filter((key) => key in right)
            .map((key) => [key, right[key]]),
        );
        const changes = Object.fromEntries(
          Object.entries(replaced).filter(([key]) => kept.includes(key)),
        );
        return { algorithm, ...base, ...changes };
      }),
  ),
  fc.record(
    {
      algorithm: fc.oneof(fc.constantFrom<unknown>(...Object.keys(OWN)), garbage),
      ...common,
      ...OWN.gcra,
      extra: garbage,
    },
    optional as never,
  ),
  garbage,
);

/** Compares a limiter with the exact model, near the edges of its limits. Slots have their own model: see slots.test.ts. */
async function expectExact(limits: readonly Limit[], seed: number): Promise<void> {
  if (limits.some(({ algorithm }) => algorithm === "concurrency")) return;
  const random = new Random(seed);
  const time = new MicroClock(1_800_000_000_000_000n);
  const limiter: Limiter = createLimiter({
    name: "exact",
    limits,
    store: memoryStore({ clock: time.clock }),
  });
  const oracle = new Oracle(limits);
  const subjects = Object.fromEntries(
    limits.map(({ per = "default" }) => [per, per === "global" ? "*" : "ann"]),
  );
  let last: ReturnType<Oracle["decide"]> | undefined;
  for (let step = 0; step < 20; step += 1) {
    time.advance(randomWait(random, last, oracle.changeTimes));
    const cost = randomCost(random, last);
    last = oracle.decide(subjects, cost, time.now);
    claimSame(await limiter.consume(subjects, { cost }), last, () => `step ${step}, seed ${seed}`);
  }
  await limiter.close();
}

describe("a limit", () => {
  const seen = { exact: 0, refused: 0 };

  test.prop([anyLimit, fc.nat()], runs(600))(
    "a limit with any numbers is exact or rejected",
    async (limit, seed) => {
      const limiter = orCode(() => createLimiter({ limits: limit as Limit }));
      const read = orCode(() => readPolicy(limit));
      expect(read).toEqual(limiter && limit);
      if (limiter === undefined) {
        seen.refused += 1;
        return;
      }
      await limiter.close();
      await expectExact([limit].flat() as Limit[], seed);
      seen.exact += 1;
    },
  );

  test("enough limits were exact, and enough rejected", () => {
    expect(seen.exact).toBeGreaterThan(150);
    expect(seen.refused).toBeGreaterThan(300);
  });
});

test.prop([fc.array(anyLimit, { maxLength: 4 }), fc.nat()], runs(160))(
  "several limits are exact or refused",
  async (limits, seed) => {
    const limiter = orCode(() => createLimiter({ limits: limits as Limit[] }));
    await limiter?.close();
    if (limiter !== undefined) await expectExact(limits.flat() as Limit[], seed);
  },
);
