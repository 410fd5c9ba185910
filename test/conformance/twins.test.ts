import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, inject, test } from "vitest";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { claim, claimSame, claimSameCharge } from "./claim.ts";
import { runHistories, SCALE } from "./histories.ts";
import { MicroClock } from "./micro-clock.ts";
import type { Random } from "./random.ts";
import { KINDS, randomLimit, randomPolicy, withRandomBlocks } from "./random-limits.ts";
import {
  momentsOf,
  randomCharge,
  randomCost,
  randomStart,
  randomSubjects,
  randomUnits,
  randomWait,
} from "./random-steps.ts";

const HISTORIES = 600 * SCALE;
const LENGTH = 20;

/** Each history waits for its own replies only, so that the server gets its requests in batches. */
const LANES = 64;

const redis = new Redis(inject("redisSocket"), { db: 11 });
beforeAll(() => redis.flushdb());
afterAll(async () => {
  await redis.flushdb();
  await redis.quit();
});

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

  test("slidingLog, while its ring grows, turns and shrinks", async () => {
    await runHistories(
      24 * SCALE,
      async (random, history) => {
        const limit = random.whole(70, 400);
        await compare(random, `ring ${history}`, [slidingLog({ limit, window: limit })], {
          length: 1_000,
          // Mostly one request a millisecond, which fills the ring; now and then most of it, or all, has expired.
          wait: () =>
            BigInt(random.chance(0.01) ? limit * random.whole(700, 1_100) : random.whole(0, 1_900)),
          cost: () => (random.chance(0.05) ? random.whole(1, 20) : 1),
          charge: () => random.whole(1, 3),
          units: ({ cost }) => random.whole(0, cost + 2),
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

describe("memoryStore and redisStore block alike", () => {
  test.each(KINDS)("%s", async (kind) => {
    await runHistories(
      HISTORIES,
      (random, history) => {
        const limit = randomLimit(random, kind, random.chance(0.9) ? "small" : "wide");
        return compare(
          random,
          `blocks ${kind} ${history}`,
          withRandomBlocks(random, [limit]),
          blockingSteps(random),
        );
      },
      LANES,
    );
  });

  test("several limits, in several dimensions", async () => {
    await runHistories(
      HISTORIES,
      (random, history) => {
        const limits = randomPolicy(random, random.whole(2, 5), random.whole(1, 3));
        return compare(
          random,
          `blocks ${history}`,
          withRandomBlocks(random, limits),
          blockingSteps(random),
        );
      },
      LANES,
    );
  });
});

interface Steps {
  readonly length: number;
  /** Microseconds. */
  readonly wait: (last: Decision | undefined) => bigint;
  readonly cost: (last: Decision | undefined) => number;
  /** Units to charge, or those to settle at. */
  readonly charge: (last: Decision | undefined) => number;
  readonly units: (decision: Decision) => number;
  /** Milliseconds to block by hand; 0 to end a block. */
  readonly block?: (last: Decision | undefined) => number;
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

/** Steps of which some block by hand: for less, as long, or more than what was told last, or not any longer. */
function blockingSteps(random: Random): Steps {
  const near = ({ retryAfterMs }: Decision) => retryAfterMs + random.pick([-1, 0, 1]);
  return {
    ...stepsOf(random),
    length: 2 * LENGTH,
    block: (last) => {
      if (random.chance(0.4)) return 0;
      const span = last?.blocked && random.chance(0.5) ? near(last) : random.magnitude(1, 1e9);
      return Number.isFinite(span) ? Math.max(1, Math.min(span, 366 * 86_400_000)) : 1;
    },
  };
}

/** Does the same random things with a limiter in this process and one on Redis. */
async function compare(
  random: Random,
  name: string,
  limits: readonly Limit[],
  steps: Steps = stepsOf(random),
): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const twins = [memoryStore({ clock: time.clock }), redisStore(redis, { clock: time.clock })].map(
    (store) => createLimiter({ ...STORE_ALONE, name, limits, store }),
  ) as [Limiter, Limiter];
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  const admitted: [Decision, Decision][] = [];
  let last: Decision | undefined;
  for (let step = 0; step < steps.length; step++) {
    time.advance(steps.wait(last));
    const subjects = randomSubjects(random, dimensions);
    const cost = steps.cost(last);
    const act = random.fraction();
    const context = () => `step ${step} at ${time.now} of ${JSON.stringify(limits)}`;
    if (act < 0.12 && admitted.length > 0) {
      const [inMemory, onRedis] = random.pick(admitted.slice(-50));
      const given = await Promise.all([twins[0].refund(inMemory), twins[1].refund(onRedis)]);
      claim(given[1] === given[0], () => `refunds ${given}, ${context()}`);
    } else if (act < 0.2 && admitted.length > 0) {
      const [inMemory, onRedis] = random.pick(admitted.slice(-50));
      const units = steps.units(inMemory);
      const settled = await Promise.all([
        twins[0].settle(inMemory, units),
        twins[1].settle(onRedis, units),
      ]);
      claimSameCharge(settled[1], settled[0], () => `${units} settled, ${context()}`);
    } else if (act < 0.26) {
      const charge = { cost: steps.charge(last) };
      const charged = await Promise.all([
        twins[0].charge(subjects, charge),
        twins[1].charge(subjects, charge),
      ]);
      claimSameCharge(charged[1], charged[0], () => `${charge.cost} charged, ${context()}`);
    } else if (act < 0.32 && steps.block !== undefined) {
      const span = steps.block(last);
      const done = await Promise.all(
        twins.map((twin) => (span > 0 ? twin.block(subjects, span) : twin.unblock(subjects))),
      );
      claim(done[0] === done[1], () => `${span} blocked: ${done}, ${context()}`);
    } else if (act < (steps.block === undefined ? 0.28 : 0.34)) {
      // Whether there was anything to forget is not compared: it depends on whether what had expired was collected.
      await Promise.all(twins.map((twin) => twin.reset(subjects)));
    } else {
      const charge = act < 0.9;
      // Now and then the limits are only looked at.
      const asked = charge || random.chance(0.7) ? cost : 0;
      const ask = (twin: Limiter) => (charge ? twin.consume : twin.peek)(subjects, { cost: asked });
      const [inMemory, onRedis] = await Promise.all([ask(twins[0]), ask(twins[1])]);
      claimSame(onRedis, inMemory, context);
      claim(
        inMemory.allowed || inMemory.blocked || asked > 0,
        () => `a look is denied, ${context()}`,
      );
      if (inMemory.allowed && charge) admitted.push([inMemory, onRedis]);
      last = inMemory;
    }
  }
}

/** What was reported, and somewhere within the millisecond that it was rounded up from. */
function nearMoments(random: Random, decision: Decision): bigint[] {
  return momentsOf(decision).map((moment) => moment - BigInt(random.pick([0, 0, 1, 500, 999])));
}
