import type { Decision, Duration, Limit } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { runHistories, runsAllHistories, SCALE } from "../random/histories.ts";
import { KINDS, randomLimit, randomPolicy, withRandomBlocks } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomBlock, randomCost, randomWait } from "../random/steps.ts";
import type { Steps } from "../support/compare-exact.ts";
import { compareExact, countOperations, createOperationCounts } from "../support/compare-exact.ts";

/*
 * Who is locked out, by which limit and until when, how blocks escalate and when that is forgotten, is as it is written, at the
 * microsecond: in every field of every answer.
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
  return compareExact(random, withRandomBlocks(random, limits).map(apart), steps, done);
}

/** Of two limits that block for as long, either may be the one that blocks: so no two do. */
function apart(limit: Limit, place: number): Limit {
  if (limit.algorithm === "concurrency" || limit.block === undefined) return limit;
  const { block } = limit;
  if (typeof block !== "object" || !("after" in block)) {
    return { ...limit, block: apartBy(place, block) };
  }
  return { ...limit, block: { ...block, for: apartBy(place, block.for) } };
}

function apartBy(place: number, lengths: Duration | readonly Duration[]): Duration[] {
  return [lengths].flat().map((span) => {
    const ms = Number(span);
    const apart = Math.max(0, ms - (ms % 8)) + 8 + place;
    return Math.min(apart, 366 * 86_400_000 - 8 + place);
  });
}
