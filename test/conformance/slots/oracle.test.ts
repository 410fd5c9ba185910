import type { Cost, Decision, Limit } from "@headgate/core";
import { concurrency } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { nameOf } from "../oracle/definition.ts";
import { isConcurrencyState } from "../oracle/slots.ts";
import { runHistories, runsAllHistories, SHARE } from "../random/histories.ts";
import { randomPolicy, withRandomBlocks } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomBlock, randomCost, randomWait } from "../random/steps.ts";
import type { Steps } from "../support/compare-exact.ts";
import { compareExact, countOperations, createOperationCounts } from "../support/compare-exact.ts";

/*
 * Holders of slots, their expiry and all reported fields match the oracle to the microsecond, for concurrency limits alone and
 * together with limits of units, which may block.
 */

const LENGTH = 400;
const ALONE = 80 * SHARE;
const TOGETHER = 92 * SHARE;

const done = createOperationCounts();
const LEAST = {
  requests: 68_800,
  requestsWithOtherLimits: 16_800,
  requestsBlocked: 8_000,
  charged: 1_600,
  settled: 2_500,
  refunded: 2_100,
  released: 18_000,
  blocked: 1_050,
  reset: 490,
};

describe("memoryStore takes slots as the oracle does", () => {
  test("alone", async () => {
    await runHistories(ALONE, (random) => compare(random, randomConcurrencyLimits(random)));
  });

  test("together with limits of units", async () => {
    await runHistories(TOGETHER, (random) => {
      const units = randomPolicy(random, random.whole(1, 3), 2);
      const blocking = random.chance(0.3) ? withRandomBlocks(random, units).slice(0, 1) : units;
      return compare(random, random.shuffle([...randomConcurrencyLimits(random), ...blocking]));
    });
  });
});

test("the comparison covers tens of thousands of operations", ({ skip }) => {
  skip(!runsAllHistories, "one history is run alone");
  skip(done.requests === 0, "the other tests of this file were not run");
  for (const [operation, least] of Object.entries(LEAST)) {
    expect(done[operation as keyof typeof done], operation).toBeGreaterThanOrEqual(least * SHARE);
  }
  expect(countOperations(done)).toBeGreaterThanOrEqual(96_000 * SHARE);
});

function randomConcurrencyLimits(random: Random): Limit[] {
  return Array.from({ length: random.whole(1, 2) }, (_, i) =>
    concurrency({
      limit: random.chance(0.8) ? random.whole(1, 6) : random.whole(7, 40),
      ttl: random.pick([1, 7, 1_000, 60_000, 366 * 86_400_000]),
      name: `slots ${i}`,
      per: random.pick(["default", "tenant"]),
    }),
  );
}

function compare(random: Random, limits: readonly Limit[]): Promise<void> {
  const steps: Steps = {
    length: LENGTH,
    // Mostly so short that slots are still held.
    wait: (last, oracle) =>
      random.chance(0.6)
        ? BigInt(random.whole(0, 300))
        : randomWait(random, last, oracle.changeTimes),
    cost: (last) => (random.chance(0.3) ? byName(random, limits) : oneOf(random, last)),
    charges: random.chance(0.5),
    changes: random.chance(0.4),
    shadow: random.chance(0.2),
    releases: true,
    ...(random.chance(0.4) && { block: (last: Decision) => randomBlock(random, last) }),
  };
  return compareExact(random, limits, steps, done);
}

/** A cost near the boundaries of the unit limits, of which a concurrency limit takes one slot. */
function oneOf(random: Random, last: Decision | undefined): Cost {
  const limits = last?.limits.filter((state) => !isConcurrencyState(state)) ?? [];
  return last === undefined || limits.length === 0
    ? random.whole(1, 3)
    : randomCost(random, { ...last, limits });
}

/** A cost by name of some limits. The first one is never free, so that one limit is charged. */
function byName(random: Random, limits: readonly Limit[]): Cost {
  const charged = limits.filter((_, i) => i === 0 || random.chance(0.8));
  return Object.fromEntries(
    charged.map((limit, i) => [nameOf(limit), random.whole(i === 0 ? 1 : 0, 3)]),
  );
}
