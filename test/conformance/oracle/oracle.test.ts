import type { Limit } from "@headgate/core";
import { fixedWindow, slidingLog } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { runHistories, runsAllHistories, SHARE } from "../random/histories.ts";
import { KINDS, randomLimit, randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomWait } from "../random/steps.ts";
import type { Steps } from "../support/compare-exact.ts";
import { compareExact, createOperationCounts } from "../support/compare-exact.ts";

/** Steps of one history: enough to fill and empty most limits several times. */
const LENGTH = 400;

/** Histories for each kind alone, and for each combination of limits. */
const ALONE = (20_000 / LENGTH) * SHARE;
const COMBINED = (40_000 / LENGTH) * SHARE;

/** The compared operations are counted, so that the comparison does not shrink by accident. */
const done = createOperationCounts();
const LEAST = {
  requests: 300_000,
  requestsWithOtherLimits: 72_000,
  charged: 6_800,
  settled: 14_300,
  refunded: 5_800,
  reset: 2_350,
};

describe("memoryStore decides as the oracle does", () => {
  test.each(KINDS)("%s", async (kind) => {
    await runHistories(ALONE, (random) =>
      compare(random, [randomLimit(random, kind, random.chance(0.4) ? "small" : "wide")]),
    );
  });

  test("two limits of one subject", async () => {
    await runHistories(COMBINED, (random) => compare(random, randomPolicy(random, 2)));
  });

  test("limits in several dimensions", async () => {
    await runHistories(COMBINED, (random) => compare(random, randomPolicy(random, 3, 3)));
  });

  test("many limits", async () => {
    await runHistories(COMBINED, (random) =>
      compare(random, randomPolicy(random, random.whole(4, 8), 2)),
    );
  });
});

test("memoryStore decides a log of thousands of entries as the oracle does", async () => {
  await runHistories(2 * SHARE, (random) => {
    const limit = random.whole(500, 3_000);
    return compare(random, [slidingLog({ limit, window: limit })], {
      length: 10_000,
      wait: () => BigInt(random.chance(0.002) ? limit * 500 : random.whole(0, 1_500)),
      cost: () => (random.chance(0.05) ? random.whole(1, 50) : 1),
    });
  });
});

test("the binding limit is the one with the least share, however close the shares are", async () => {
  await runHistories(80 * SHARE, (random) => {
    const limit = random.whole(900_000_000, 1_000_000_000);
    const close = [
      fixedWindow({ limit, window: "2h", name: "longer" }),
      fixedWindow({ limit: limit - random.whole(1, 3), window: "1h", name: "shorter" }),
    ];
    return compare(random, close, {
      length: 20,
      wait: () => 0n,
      cost: () => random.pick([1, random.magnitude(1, 10_000_000)]),
    });
  });
});

test("the comparison covers hundreds of thousands of requests and other operations", ({ skip }) => {
  skip(!runsAllHistories, "one history is run alone");
  skip(done.requests === 0, "the other tests of this file were not run");
  for (const [operation, least] of Object.entries(LEAST)) {
    expect(done[operation as keyof typeof done], operation).toBeGreaterThanOrEqual(least * SHARE);
  }
});

/** The default steps of a history. */
function stepsOf(random: Random): Steps {
  return {
    length: LENGTH,
    wait: (last, oracle) => randomWait(random, last, oracle.changeTimes),
    cost: (last) => randomCost(random, last),
    charges: random.chance(0.5),
    changes: random.chance(0.4),
  };
}

function compare(
  random: Random,
  limits: readonly Limit[],
  steps: Steps = stepsOf(random),
): Promise<void> {
  return compareExact(random, limits, steps, done);
}
