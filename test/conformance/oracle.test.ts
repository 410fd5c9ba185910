import type { Decision, Limit } from "@headgate/core";
import { createLimiter, fixedWindow, memoryStore, slidingLog } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { claim, claimSame, claimSameCharge } from "./claim.ts";
import { isWhole, runHistories, SCALE } from "./histories.ts";
import { MicroClock } from "./micro-clock.ts";
import { Oracle } from "./oracle.ts";
import { nameOf } from "./oracle-definition.ts";
import type { Random } from "./random.ts";
import {
  KINDS,
  randomLimit,
  randomPolicy,
  withOtherCapacity,
  withOtherNumbers,
} from "./random-limits.ts";
import {
  randomCharge,
  randomCost,
  randomStart,
  randomSubjects,
  randomUnits,
  randomWait,
} from "./random-steps.ts";

/** Steps of one history: enough to fill and empty most limits several times. */
const LENGTH = 200;

/** 80,000 steps for each kind alone, 140,000 for each way to combine limits. */
const ALONE = (80_000 / LENGTH) * SCALE;
const COMBINED = (140_000 / LENGTH) * SCALE;

/** What is done to both is counted, so that nobody makes it less by accident. */
const done = { asked: 0, askedByOthers: 0, charged: 0, settled: 0, refunded: 0, reset: 0 };
const LEAST = {
  asked: 1_000_000,
  askedByOthers: 245_000,
  charged: 23_000,
  settled: 49_000,
  refunded: 20_000,
  reset: 8_000,
};

describe("memoryStore decides as exact rationals do", () => {
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

test("a log of thousands of entries is decided as exact rationals do", async () => {
  await runHistories(4 * SCALE, (random) => {
    const limit = random.whole(500, 3_000);
    return compare(random, [slidingLog({ limit, window: limit })], {
      length: 10_000,
      wait: () => BigInt(random.chance(0.002) ? limit * 500 : random.whole(0, 1_500)),
      cost: () => (random.chance(0.05) ? random.whole(1, 50) : 1),
    });
  });
});

test("the binding limit is the one with the least share, however close the shares are", async () => {
  await runHistories(200 * SCALE, (random) => {
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

test("a million requests are compared, and what is done between them", ({ skip }) => {
  skip(!isWhole, "one history is run alone");
  skip(done.asked === 0, "the other tests of this file were not run");
  for (const [operation, least] of Object.entries(LEAST)) {
    expect(done[operation as keyof typeof done], operation).toBeGreaterThanOrEqual(least * SCALE);
  }
});

interface Steps {
  readonly length: number;
  /** Microseconds. */
  readonly wait: (last: Decision | undefined, oracle: Oracle) => bigint;
  readonly cost: (last: Decision | undefined) => number;
  /** Whether there are charges, settles and refunds between the requests. */
  readonly charges?: boolean;
  /** Whether some requests bring other numbers. */
  readonly changes?: boolean;
}

/** Does the same random things with a limiter and with the oracle. */
async function compare(
  random: Random,
  written: readonly Limit[],
  steps: Steps = {
    length: LENGTH,
    wait: (last, oracle) => randomWait(random, last, oracle.moments),
    cost: (last) => randomCost(random, last),
    charges: random.chance(0.5),
    changes: random.chance(0.4),
  },
): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const store = memoryStore({ clock: time.clock });
  // Other numbers would make another name of the numbers.
  const limits = steps.changes
    ? written.map((limit) => ({ name: nameOf(limit), ...limit }))
    : written;
  const limiter = createLimiter({ ...STORE_ALONE, name: "compared", limits, store });
  const oracle = new Oracle(limits, true);
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  // Whoever is alone is not swept out, as if all had drained by the numbers that were written last.
  const isAlone = dimensions.length === 1 && random.chance(0.5);
  const other = isAlone ? withOtherNumbers : withOtherCapacity;
  const plans = [limits, ...(steps.changes ? othersOf(random, limits, other) : [])];
  /** What was admitted since the last reset: the limiter's decision, and the oracle's. */
  let admitted: [Decision, Decision][] = [];
  let last: Decision | undefined;
  for (let step = 0; step < steps.length; step++) {
    time.advance(steps.wait(last, oracle));
    const subjects = randomSubjects(random, dimensions, isAlone ? 1 : 0.85);
    const cost = steps.cost(last);
    const charge = !random.chance(0.1);
    const plan = steps.changes ? random.pick(plans) : limits;
    oracle.change(plan);
    last = oracle.decide(subjects, cost, time.now, charge);
    const ask = charge ? limiter.consume : limiter.peek;
    const context = () =>
      `step ${step}, ${JSON.stringify({ charge, cost, subjects, limits, plan })} at ${time.now}`;
    const decision = await ask(subjects, plan === limits ? { cost } : { cost, limits: plan });
    claimSame(decision, last, context);
    done.asked += 1;
    if (plan !== limits) done.askedByOthers += 1;
    if (charge && decision.allowed) admitted.push([decision, last]);
    if (steps.charges && random.chance(0.05)) {
      const units = randomCharge(random, last);
      const charged = await limiter.charge(subjects, { cost: units });
      oracle.change(limits);
      claimSameCharge(charged, oracle.charge(subjects, units, time.now), context);
      done.charged += 1;
    }
    if (steps.charges && admitted.length > 0 && random.chance(0.15)) {
      const [own, exact] = random.pick(admitted.slice(-20));
      if (random.chance(0.7)) {
        const units = randomUnits(random, own);
        const settled = await limiter.settle(own, units);
        claimSameCharge(settled, oracle.settle(exact, units, time.now), context);
        done.settled += 1;
      } else {
        const given = await limiter.refund(own);
        claim(given === oracle.refund(exact, time.now), () => `refunds ${given}, ${context()}`);
        done.refunded += 1;
      }
    }
    if (random.chance(0.01) && !(steps.changes && isAlone)) {
      await limiter.reset(subjects);
      oracle.reset(subjects);
      admitted = [];
      done.reset += 1;
    }
  }
}

/** Other numbers for limits, for some of them the same. */
function othersOf(
  random: Random,
  limits: readonly Limit[],
  other: (random: Random, limit: Limit) => Limit,
): Limit[][] {
  return [1, 2].map(() =>
    limits.map((limit) => (random.chance(0.2) ? limit : other(random, limit))),
  );
}
