import type { Decision, Duration, Limit } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { runHistories, runsAllHistories, SCALE } from "../random/histories.ts";
import { KINDS, randomLimit, randomPolicy, withRandomBlocks } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomBlock, randomCost, randomWait } from "../random/steps.ts";
import type { Steps } from "../support/compare-exact.ts";
import { compareExact, countOperations, createOperationCounts } from "../support/compare-exact.ts";

/*
 * Blocks, their lengths, their escalation and the reset of their level match the oracle to the microsecond, in each field of each
 * decision.
 */

const LENGTH = 400;

/** Histories of each kind of limit alone, and of several limits. */
const ALONE = 20 * SCALE;
const COMBINED = 97 * SCALE;

const done = createOperationCounts();
const LEAST = {
  requests: 101_640,
  requestsWithOtherLimits: 25_080,
  requestsBlocked: 37_620,
  charged: 3_160,
  settled: 6_330,
  refunded: 2_640,
  blocked: 3_160,
  reset: 710,
};

describe("memoryStore sets blocks as the oracle does", () => {
  test.each(KINDS)("%s", async (kind) => {
    await runHistories(ALONE, (random) =>
      compare(random, [randomLimit(random, kind, random.chance(0.9) ? "small" : "wide")]),
    );
  });

  test("several limits, in several dimensions", async () => {
    await runHistories(COMBINED, (random) =>
      compare(random, randomPolicy(random, random.whole(2, 5), random.whole(1, 3))),
    );
  });
});

test("the comparison covers hundreds of thousands of operations", ({ skip }) => {
  skip(!runsAllHistories, "one history is run alone");
  skip(done.requests === 0, "the other tests of this file were not run");
  for (const [operation, least] of Object.entries(LEAST)) {
    expect(done[operation as keyof typeof done], operation).toBeGreaterThanOrEqual(least * SCALE);
  }
  expect(countOperations(done)).toBeGreaterThanOrEqual(117_000 * SCALE);
});

function compare(random: Random, limits: readonly Limit[]): Promise<void> {
  const steps: Steps = {
    length: LENGTH,
    wait: (last, oracle) => randomWait(random, last, oracle.changeTimes),
    cost: (last) => randomCost(random, last),
    charges: random.chance(0.7),
    changes: random.chance(0.4),
    shadow: random.chance(0.3),
    ...(random.chance(0.7) && { block: (last: Decision) => randomBlock(random, last) }),
  };
  return compareExact(random, withRandomBlocks(random, limits).map(withDistinctSpans), steps, done);
}

/** Gives limits blocks of distinct lengths, since either of two equal blocks may be set. */
function withDistinctSpans(limit: Limit, index: number): Limit {
  if (limit.algorithm === "concurrency" || limit.block === undefined) return limit;
  const { block } = limit;
  if (typeof block !== "object" || !("after" in block)) {
    return { ...limit, block: distinctSpans(index, block) };
  }
  return { ...limit, block: { ...block, for: distinctSpans(index, block.for) } };
}

function distinctSpans(index: number, lengths: Duration | readonly Duration[]): Duration[] {
  return [lengths].flat().map((span) => {
    const ms = Number(span);
    const apart = Math.max(0, ms - (ms % 8)) + 8 + index;
    return Math.min(apart, 366 * 86_400_000 - 8 + index);
  });
}
