import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { useOwnDatabase } from "../../support/own-database.ts";
import type { DecisionByName } from "../oracle/costs-by-name.ts";
import { OracleByName } from "../oracle/costs-by-name.ts";
import { randomChargeByName, randomCostByName, randomUnitsByName } from "../random/costs.ts";
import { historiesOf, runHistories } from "../random/histories.ts";
import { KINDS, randomLimit, randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { changeTimesOf, randomStart, randomSubjects, randomWait } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { MicroClock } from "../support/micro-clock.ts";

/** Each policy loads its own scripts, which costs as much as dozens of steps, so there are fewer and longer histories. */
const HISTORIES = historiesOf(4, 500);
const LENGTH = 75;
/** Histories that are compared with the oracle. */
const EXACT = historiesOf(6, 500);

/** Each history waits for its own replies only, so that the server gets its requests in batches. */
const LANES = 64;

const redis = useOwnDatabase();

const POLICIES: readonly (readonly [what: string, make: (random: Random) => Limit[]])[] = [
  ...KINDS.map(
    (kind) =>
      [
        `${kind} and another limit`,
        (random: Random) => [
          randomLimit(random, kind, random.chance(0.6) ? "small" : "wide", { name: "one" }),
          randomLimit(random, random.pick(KINDS), "small", { name: "other" }),
        ],
      ] as const,
  ),
  ["several limits of one subject", (random) => randomPolicy(random, random.whole(2, 5))],
  ["limits in several dimensions", (random) => randomPolicy(random, random.whole(2, 5), 3)],
  // Their names are fields of tables in the scripts.
  ["very many limits", (random) => randomPolicy(random, random.whole(14, 18), 2)],
];

describe("memoryStore and redisStore give equal decisions for costs by name", () => {
  test.each(POLICIES)("%s", async (what, make) => {
    let admitted = 0;
    await runHistories(
      HISTORIES,
      async (random, history) => {
        const count = await compareTwins(random, `${what} ${history}`, make(random));
        admitted += count;
      },
      LANES,
    );
    expect(admitted).toBeGreaterThan(HISTORIES);
  });
});

describe("memoryStore decides costs by name as the oracle does", () => {
  test.each(POLICIES)("%s", async (_, make) => {
    await runHistories(EXACT, (random) => compareExact(random, make(random)));
  });
});

function same(actual: unknown, expected: unknown, context: () => string): void {
  const isSame = JSON.stringify(actual) === JSON.stringify(expected);
  if (!isSame) expect(actual, context()).toEqual(expected);
}

/** Compares random operations of a limiter on memoryStore with one on Redis. Returns the number of admitted requests. */
async function compareTwins(
  random: Random,
  name: string,
  limits: readonly Limit[],
): Promise<number> {
  const time = new MicroClock(randomStart(random));
  const [here, there] = [
    memoryStore({ clock: time.clock }),
    redisStore(redis, { clock: time.clock }),
  ].map((store) => createLimiter({ ...STORE_ALONE, name, limits, store })) as [Limiter, Limiter];
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  const admitted: [Decision, Decision][] = [];
  let last: Decision | undefined;
  for (let step = 0; step < LENGTH; step += 1) {
    time.advance(randomWait(random, last, last === undefined ? [] : changeTimesOf(last)));
    const subjects = randomSubjects(random, dimensions);
    const act = random.fraction();
    const [inMemory, onRedis] = admitted.length === 0 ? [] : random.pick(admitted.slice(-20));
    const context = () => `step ${step} at ${time.now} of ${JSON.stringify(limits)}`;
    if (act < 0.12 && inMemory !== undefined && onRedis !== undefined) {
      const given = await Promise.all([here.refund(inMemory), there.refund(onRedis)]);
      claim(given[1] === given[0], () => `refunds ${given}, ${context()}`);
    } else if (act < 0.26 && inMemory !== undefined && onRedis !== undefined) {
      const units = randomUnitsByName(random, limits, inMemory);
      const settled = [here.settle(inMemory, units), there.settle(onRedis, units)];
      const [one, other] = await Promise.all(settled);
      same(other, one, () => `settled at ${JSON.stringify(units)}, ${context()}`);
    } else if (act < 0.34) {
      const cost = randomChargeByName(random, limits, last);
      const charged = [here.charge(subjects, { cost }), there.charge(subjects, { cost })];
      const [one, other] = await Promise.all(charged);
      same(other, one, () => `charged ${JSON.stringify(cost)}, ${context()}`);
    } else {
      // Now and then in one number, on the same counters.
      const cost = random.chance(0.15) ? 1 : randomCostByName(random, limits, last);
      const charge = act < 0.9;
      const decide = (twin: Limiter) => (charge ? twin.consume : twin.peek)(subjects, { cost });
      const [one, other] = (await Promise.all([decide(here), decide(there)])) as [
        Decision,
        Decision,
      ];
      same(other, one, () => `requested ${JSON.stringify(cost)}, ${context()}`);
      if (one.allowed && charge) admitted.push([one, other]);
      last = one;
    }
  }
  return admitted.length;
}

/** Compares random operations of a limiter with the oracle. */
async function compareExact(random: Random, limits: readonly Limit[]): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const store = memoryStore({ clock: time.clock });
  const limiter = createLimiter({ ...STORE_ALONE, name: "compared", limits, store });
  const oracle = new OracleByName(limits);
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  const admitted: [Decision, DecisionByName][] = [];
  let last: Decision | undefined;
  for (let step = 0; step < 100; step += 1) {
    time.advance(randomWait(random, last, oracle.changeTimes));
    const subjects = randomSubjects(random, dimensions);
    const cost = randomCostByName(random, limits, last);
    const charge = random.chance(0.9);
    const context = () =>
      `step ${step} at ${time.now}, ${JSON.stringify({ charge, cost, subjects, limits })}`;
    const exact = oracle.decide(subjects, cost, time.now, charge);
    const decision = await (charge ? limiter.consume : limiter.peek)(subjects, { cost });
    const { allowed, limits: states } = decision;
    same([allowed, states], [exact.allowed, exact.limits], context);
    expect(decision.cost, context()).toEqual(exact.cost);
    if (allowed && charge) admitted.push([decision, exact]);
    last = decision;
    if (random.chance(0.05)) {
      const more = randomChargeByName(random, limits, last);
      const charged = await limiter.charge(subjects, { cost: more });
      expect(charged, context()).toEqual(oracle.charge(subjects, more, time.now));
    }
    if (admitted.length > 0 && random.chance(0.15)) {
      const [own, answer] = random.pick(admitted.slice(-20));
      const units = randomUnitsByName(random, limits, own);
      const settled = await limiter.settle(own, units);
      expect(settled, context()).toEqual(oracle.settle(answer, units, time.now));
    }
    if (admitted.length > 0 && random.chance(0.1)) {
      const [own, answer] = random.pick(admitted.slice(-20));
      if (!oracle.isCharged(answer)) continue;
      const given = await limiter.refund(own);
      claim(given === oracle.refund(answer, time.now), () => `refunds ${given}, ${context()}`);
    }
  }
}
