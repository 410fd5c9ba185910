import type { FixedWindowLimit, Limit } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { randomCalendar } from "../random/calendar.ts";
import { historiesOf, runHistories, runsAllHistories, SHARE } from "../random/histories.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomWait } from "../random/steps.ts";
import type { Steps } from "../support/compare-exact.ts";
import { compareExact, countOperations, createOperationCounts } from "../support/compare-exact.ts";

/*
 * Where a day, week, month or year begins and ends is what Temporal says, in every zone that there is and from 1970 to 2109: told
 * in every field, and counted at the microsecond.
 */

/** Shorter where there are few, for each has zones of its own. */
const LENGTH = SHARE > 1 ? 400 : 160;
const HISTORIES = historiesOf(340, 3_400);

/** Microseconds: somewhere in those years, with some weeks before the last moment there is. */
const LATEST = 4_390_000_000_000_000;

const done = createOperationCounts();
const LEAST = {
  requests: 54_400,
  requestsWithOtherLimits: 14_400,
  charged: 1_680,
  settled: 3_600,
  refunded: 1_560,
  reset: 380,
};

const ZONES = Intl.supportedValuesOf("timeZone");

describe("memoryStore counts calendar windows as the oracle does", () => {
  test("one window", async () => {
    await runHistories(HISTORIES / 2, (random) => compare(random, [randomWindow(random, "one")]));
  });

  test("several windows in several time zones", async () => {
    await runHistories(HISTORIES / 2, (random) =>
      compare(
        random,
        ["one", "other"].map((name) => randomWindow(random, name)),
      ),
    );
  });
});

test("the comparison covers tens of thousands of operations and half of all time zones", ({
  skip,
}) => {
  skip(!runsAllHistories, "one history is run alone");
  skip(done.requests === 0, "the other tests of this file were not run");
  for (const [operation, least] of Object.entries(LEAST)) {
    expect(done[operation as keyof typeof done], operation).toBeGreaterThanOrEqual(least * SHARE);
  }
  expect(countOperations(done)).toBeGreaterThanOrEqual(60_000 * SHARE);
  expect(zones.size).toBeGreaterThan(ZONES.length * 0.45);
});

const zones = new Set<string>();

function randomWindow(random: Random, name: string): FixedWindowLimit {
  const { window, timeZone } = randomCalendar(random);
  const zone = random.chance(0.8) ? random.pick(ZONES) : timeZone;
  if (zone !== undefined) zones.add(zone);
  const limit = random.chance(0.8) ? random.whole(1, 20) : random.magnitude(1, 1_000_000_000);
  return { algorithm: "fixedWindow", limit, window, ...(zone && { timeZone: zone }), name };
}

function compare(random: Random, limits: readonly Limit[]): Promise<void> {
  const steps: Steps = {
    length: LENGTH,
    start: BigInt(random.whole(0, LATEST)),
    wait: (last, oracle) =>
      random.chance(0.7)
        ? BigInt(random.whole(0, 3_600_000_000))
        : randomWait(random, last, oracle.changeTimes),
    cost: (last) => randomCost(random, last),
    charges: random.chance(0.7),
    changes: random.chance(0.4),
  };
  return compareExact(random, limits, steps, done);
}
