import type { Decision, Limit } from "@headgate/core";
import { createLimiter, fixedWindow, memoryStore, slidingLog } from "@headgate/core";
import { describe, test } from "vitest";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { claimSame, claimSameCharge } from "./claim.ts";
import { runHistories, SCALE } from "./histories.ts";
import { MicroClock } from "./micro-clock.ts";
import { Oracle } from "./oracle.ts";
import type { Random } from "./random.ts";
import { KINDS, randomLimit, randomPolicy } from "./random-limits.ts";
import {
  randomCharge,
  randomCost,
  randomStart,
  randomSubjects,
  randomUnits,
  randomWait,
} from "./random-steps.ts";

/** Requests of one history: enough to fill and empty most limits several times. */
const LENGTH = 200;

/** 80,000 requests for each kind alone, 140,000 for each way to combine limits: 10^6 together. */
const ALONE = (80_000 / LENGTH) * SCALE;
const COMBINED = (140_000 / LENGTH) * SCALE;

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

interface Steps {
  readonly length: number;
  /** Microseconds. */
  readonly wait: (last: Decision | undefined, oracle: Oracle) => bigint;
  readonly cost: (last: Decision | undefined) => number;
  /** Whether there are charges and settles between the requests. */
  readonly charges?: boolean;
}

/** Sends the same random requests to a limiter and to the oracle. */
async function compare(
  random: Random,
  limits: readonly Limit[],
  steps: Steps = {
    length: LENGTH,
    wait: (last, oracle) => randomWait(random, last, oracle.moments),
    cost: (last) => randomCost(random, last),
    charges: random.chance(0.5),
  },
): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const store = memoryStore({ clock: time.clock });
  const limiter = createLimiter({ ...STORE_ALONE, name: "compared", limits, store });
  const oracle = new Oracle(limits);
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  /** What was admitted since the last reset: the limiter's decision, and the oracle's. */
  let admitted: [Decision, Decision][] = [];
  let last: Decision | undefined;
  for (let step = 0; step < steps.length; step++) {
    time.advance(steps.wait(last, oracle));
    const subjects = randomSubjects(random, dimensions);
    const cost = steps.cost(last);
    const charge = !random.chance(0.1);
    last = oracle.decide(subjects, cost, time.now, charge);
    const ask = charge ? limiter.consume : limiter.peek;
    const context = () =>
      `step ${step}, ${JSON.stringify({ charge, cost, subjects, limits })} at ${time.now}`;
    const decision = await ask(subjects, { cost });
    claimSame(decision, last, context);
    if (charge && decision.allowed) admitted.push([decision, last]);
    if (steps.charges && random.chance(0.05)) {
      const units = randomCharge(random, last);
      const charged = await limiter.charge(subjects, { cost: units });
      claimSameCharge(charged, oracle.charge(subjects, units, time.now), context);
    }
    if (steps.charges && admitted.length > 0 && random.chance(0.1)) {
      const [own, exact] = random.pick(admitted.slice(-20));
      const units = randomUnits(random, own);
      const settled = await limiter.settle(own, units);
      claimSameCharge(settled, oracle.settle(exact, units, time.now), context);
    }
    if (random.chance(0.01)) {
      await limiter.reset(subjects);
      oracle.reset(subjects);
      admitted = [];
    }
  }
}
