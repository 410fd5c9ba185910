import type { Decision, Limit, Limiter, LimiterOptions } from "@headgate/core";
import { createLimiter, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { useOwnDatabase } from "../../support/own-database.ts";
import { nameOf } from "../oracle/definition.ts";
import { historiesOf, runHistories, runsAllHistories, SHARE } from "../random/histories.ts";
import {
  KINDS,
  randomLimit,
  randomPolicy,
  withOtherCapacity,
  withRandomBlocks,
} from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import {
  changeTimesOf,
  randomBlock,
  randomCharge,
  randomCost,
  randomStart,
  randomSubjects,
  randomUnits,
  randomWait,
} from "../random/steps.ts";
import { claim, claimSame, claimSameCharge } from "../support/claim.ts";
import { MicroClock } from "../support/micro-clock.ts";

/** Each shape loads its own scripts, which costs as much as dozens of steps, so there are fewer and longer histories. */
const HISTORIES = historiesOf(6, 1_600);
const LENGTH = 100;

/** Each history waits for its own replies only, so that the server always has something to do. */
const LANES = 64;

/** The compared operations are counted, so that the comparison does not shrink by accident. */
const done = {
  requests: 0,
  requestsWithOtherLimits: 0,
  inBatches: 0,
  charged: 0,
  settled: 0,
  refunded: 0,
};
const LEAST = {
  requests: 28_300,
  requestsWithOtherLimits: 5_300,
  inBatches: 25_700,
  charged: 2_650,
  settled: 1_270,
  refunded: 4_800,
};

const redis = useOwnDatabase();

describe("memoryStore and redisStore give equal decisions", () => {
  test.each(KINDS)("%s", async (kind) => {
    await runHistories(
      HISTORIES,
      (random, history) =>
        compare(random, `${kind} ${history}`, [
          randomLimit(random, kind, random.chance(0.6) ? "small" : "wide"),
        ]),
      LANES,
    );
  });

  test("slidingLog, while its ring buffer grows, wraps and shrinks", async () => {
    await runHistories(
      5 * SHARE,
      async (random, history) => {
        const limit = random.whole(70, 400);
        await compare(random, `ring ${history}`, [slidingLog({ limit, window: limit })], {
          length: 1_000,
          // Mostly one request a millisecond, which fills the ring; now and then most of it, or all, has expired.
          wait: () =>
            BigInt(random.chance(0.01) ? limit * random.whole(700, 1_100) : random.whole(0, 1_900)),
          cost: () => (random.chance(0.05) ? random.whole(1, 20) : 1),
          charge: () => random.whole(1, 3),
          units: ({ cost }) => random.whole(0, Number(cost) + 2),
        });
      },
      LANES,
    );
  });

  test("several limits of one subject", async () => {
    await runHistories(
      HISTORIES,
      (random, history) =>
        compare(random, `limits ${history}`, randomPolicy(random, random.whole(2, 5))),
      LANES,
    );
  });

  test("limits in several dimensions", async () => {
    await runHistories(
      HISTORIES,
      (random, history) =>
        compare(random, `dimensions ${history}`, randomPolicy(random, random.whole(2, 5), 3)),
      LANES,
    );
  });
});

describe("memoryStore and redisStore set equal blocks", () => {
  test.each(KINDS)("%s", async (kind) => {
    await runHistories(
      HISTORIES,
      (random, history) => {
        const limit = randomLimit(random, kind, random.chance(0.9) ? "small" : "wide");
        const limits = withRandomBlocks(random, [limit]);
        return compare(random, `blocks ${kind} ${history}`, limits, blockingSteps(random));
      },
      LANES,
    );
  });

  test("several limits, in several dimensions", async () => {
    await runHistories(
      HISTORIES,
      (random, history) => {
        const policy = randomPolicy(random, random.whole(2, 5), random.whole(1, 3));
        const limits = withRandomBlocks(random, policy);
        return compare(random, `blocks ${history}`, limits, blockingSteps(random));
      },
      LANES,
    );
  });
});

describe("memoryStore and redisStore set equal blocks for confirmed units", () => {
  const windows = KINDS.filter((kind) => kind.startsWith("fixedWindow"));

  test.each(windows)("%s", async (kind) => {
    await runHistories(
      HISTORIES / 2,
      (random, history) => {
        const limit = randomLimit(random, kind, random.chance(0.9) ? "small" : "wide");
        const limits = withRandomBlocks(random, [limit]);
        return compare(random, `kept ${kind} ${history}`, limits, keepingSteps(random));
      },
      LANES,
    );
  });

  test("several limits in several dimensions, some without such a block", async () => {
    await runHistories(
      HISTORIES / 2,
      (random, history) => {
        const count = random.whole(2, 5);
        const policy = randomPolicy(random, count, random.whole(1, 3), [...windows, ...KINDS]);
        const limits = policy.map((limit) =>
          limit.algorithm === "fixedWindow"
            ? (withRandomBlocks(random, [limit])[0] as Limit)
            : limit,
        );
        return compare(random, `kept ${history}`, limits, keepingSteps(random));
      },
      LANES,
    );
  });
});

test("the comparison covers enough operations of each kind", ({ skip }) => {
  skip(!runsAllHistories, "one history is run alone");
  skip(done.requests === 0, "the other tests of this file were not run");
  for (const [operation, least] of Object.entries(LEAST)) {
    expect(done[operation as keyof typeof done], operation).toBeGreaterThanOrEqual(least * SHARE);
  }
});

interface Steps {
  readonly length: number;
  /** Microseconds. */
  readonly wait: (last: Decision | undefined) => bigint;
  readonly cost: (last: Decision | undefined) => number;
  /** Units to charge, or those to settle at. */
  readonly charge: (last: Decision | undefined) => number;
  readonly units: (decision: Decision) => number;
  /** Milliseconds of a manual block; 0 ends a block. */
  readonly block?: (last: Decision | undefined) => number;
  /** What sets the blocks of limits. */
  readonly blockOn?: LimiterOptions["blockOn"];
  /** The number of decisions to settle one after the other. Default 1. */
  readonly settles?: number;
}

function stepsOf(random: Random): Steps {
  return {
    length: LENGTH,
    wait: (last) => randomWait(random, last, last === undefined ? [] : nearMoments(random, last)),
    cost: (last) => randomCost(random, last),
    charge: (last) => randomCharge(random, last),
    units: (decision) => randomUnits(random, decision),
  };
}

/** Steps with manual blocks: shorter, as long, or longer than the last reported wait, or the end of a block. */
function blockingSteps(random: Random): Steps {
  return {
    ...stepsOf(random),
    length: 2 * LENGTH,
    block: (last) => randomBlock(random, last),
  };
}

/** The same where what is settled blocks: mostly at what it was charged. */
function keepingSteps(random: Random): Steps {
  return {
    ...blockingSteps(random),
    units: (decision) =>
      random.chance(0.7) ? Number(decision.cost) : randomUnits(random, decision),
    blockOn: "settle",
    settles: 6,
  };
}

/** Compares random operations of a limiter on memoryStore with one on Redis. */
async function compare(
  random: Random,
  name: string,
  written: readonly Limit[],
  steps: Steps = stepsOf(random),
): Promise<void> {
  const time = new MicroClock(randomStart(random));
  // A default name contains the numbers of a limit, so changing limits need a fixed name.
  const limits = written.map((limit) => ({ name: nameOf(limit), ...limit }));
  const plans = [1, 2].map(() => limits.map((limit) => withOtherCapacity(random, limit)));
  const twins = [memoryStore({ clock: time.clock }), redisStore(redis, { clock: time.clock })].map(
    (store) => createLimiter({ ...STORE_ALONE, name, limits, store, blockOn: steps.blockOn }),
  ) as [Limiter, Limiter];
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  // A gcra without a burst uses other scripts, and concurrent calls of several scripts have no defined order.
  const isOneScript = limits.every(({ algorithm }) => algorithm !== "gcra");
  const admitted: [Decision, Decision][] = [];
  let last: Decision | undefined;
  await loadScripts(twins[1], dimensions);

  /** Runs the same operations at once on each twin, and passes both results of each operation to `each`. */
  async function both<Plan, Answer>(
    things: readonly Plan[],
    act: (twin: Limiter, thing: Plan, twinNumber: 0 | 1) => Promise<Answer>,
  ): Promise<[Answer, Answer][]> {
    const answers = await Promise.all(
      twins.map((twin, i) => Promise.all(things.map((thing) => act(twin, thing, i as 0 | 1)))),
    );
    if (things.length > 1) done.inBatches += things.length;
    return things.map((_, i) => answers.map((each) => each[i]) as [Answer, Answer]);
  }

  /** The number of concurrent operations: mostly one, sometimes a batch. */
  function some<Plan>(make: () => Plan): Plan[] {
    return Array.from({ length: random.chance(0.7) ? 1 : random.whole(2, 10) }, make);
  }

  for (let step = 0; step < steps.length; step++) {
    time.advance(steps.wait(last));
    const act = random.fraction();
    const context = () => `step ${step} at ${time.now} of ${JSON.stringify([limits, ...plans])}`;
    if (act < 0.12 && admitted.length > 0) {
      const given = some(() => random.pick(admitted.slice(-50)));
      for (const [inMemory, onRedis] of await both(given, (twin, pair, i) =>
        twin.refund(pair[i]),
      )) {
        claim(onRedis === inMemory, () => `refunds ${inMemory} and ${onRedis}, ${context()}`);
      }
      done.refunded += given.length;
    } else if (act < 0.2 && admitted.length > 0) {
      // One at a time: concurrent charges and refunds have no defined order.
      for (let left = steps.settles ?? 1; left > 0; left -= 1) {
        const pair = random.pick(admitted.slice(-50));
        const units = steps.units(pair[0]);
        for (const settled of await both([pair], (twin, own, i) => twin.settle(own[i], units))) {
          claimSameCharge(settled[1], settled[0], () => `${units} settled, ${context()}`);
        }
        done.settled += 1;
      }
    } else if (act < 0.26) {
      const charges = some(() => ({
        subjects: randomSubjects(random, dimensions),
        cost: steps.charge(last),
      }));
      const charged = await both(charges, (twin, { subjects, cost }) =>
        twin.charge(subjects, { cost }),
      );
      for (const [inMemory, onRedis] of charged) {
        claimSameCharge(onRedis, inMemory, () => `${JSON.stringify(charges)}, ${context()}`);
      }
      done.charged += charges.length;
    } else if (act < 0.32 && steps.block !== undefined) {
      const subjects = randomSubjects(random, dimensions);
      const span = steps.block(last);
      const blocked = await both([subjects], (twin) =>
        span > 0 ? twin.block(subjects, span).then(() => true) : twin.unblock(subjects),
      );
      claim(blocked[0]?.[0] === blocked[0]?.[1], () => `${span}: ${blocked}, ${context()}`);
    } else if (act < (steps.block === undefined ? 0.28 : 0.34)) {
      const subjects = randomSubjects(random, dimensions);
      // The result of a reset is not compared: it depends on whether expired counters were collected.
      await Promise.all(twins.map((twin) => twin.reset(subjects)));
    } else {
      const charge = act < 0.9;
      const one = random.pick(plans);
      const bringsOthers = random.chance(0.2);
      const requests = some(() => ({
        subjects: randomSubjects(random, dimensions),
        // Some requests only peek.
        cost: charge || random.chance(0.7) ? steps.cost(last) : 0,
        ...(isOneScript
          ? random.chance(0.2) && { limits: random.pick(plans) }
          : bringsOthers && { limits: one }),
      }));
      const answers = await both(requests, (twin, { subjects, ...options }) =>
        (charge ? twin.consume : twin.peek)(subjects, options),
      );
      for (const [i, [inMemory, onRedis]] of answers.entries()) {
        const request = requests[i] as (typeof requests)[number];
        claimSame(onRedis, inMemory, () => `${JSON.stringify(request)}, ${context()}`);
        claim(
          inMemory.allowed || inMemory.blocked || request.cost > 0,
          () => `a look is denied, ${context()}`,
        );
        if (inMemory.allowed && charge) admitted.push([inMemory, onRedis]);
        if ("limits" in request) done.requestsWithOtherLimits += 1;
        last = inMemory;
      }
      done.requests += requests.length;
    }
  }
}

/** Loads all scripts first: while a server lacks a script, concurrent calls may be reordered. */
async function loadScripts(limiter: Limiter, dimensions: readonly string[]): Promise<void> {
  const unused = Object.fromEntries(dimensions.map((per) => [per, "unused"]));
  for (const times of [1, 2]) {
    const atOnce = <T>(act: () => Promise<T>) => Promise.all(Array.from({ length: times }, act));
    await atOnce(() => limiter.peek(unused));
    await atOnce(() => limiter.charge(unused, { cost: 1 }));
    await limiter.reset(unused);
    const [decision] = await atOnce(() => limiter.consume(unused));
    await atOnce(() => limiter.refund(decision as Decision));
    await limiter.reset(unused);
  }
}

/** The reported times, and times within the millisecond that was rounded up. */
function nearMoments(random: Random, decision: Decision): bigint[] {
  return changeTimesOf(decision).map((moment) => moment - BigInt(random.pick([0, 0, 1, 500, 999])));
}
