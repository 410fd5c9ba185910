import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import {
  changeTimesOf,
  randomCost,
  randomStart,
  randomSubjects,
  randomWait,
} from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { StoreUnderTest } from "../support/stores-under-test.ts";
import { describeStores } from "../support/stores-under-test.ts";

const HISTORIES = 120;
const LENGTH = 25;

describeStores((tested) => {
  test("a denial changes nothing", async () => {
    await tested.run(HISTORIES, async (random) => {
      const { limits, time, open } = stage(tested, random);
      const limiter = open(limits);
      const spared = open(limits);
      await repeat(random, limits, time, async (subjects, cost) => {
        const decision = await limiter.consume(subjects, { cost });
        // The second limiter gets only the requests that the first one admitted.
        if (decision.allowed) claimSame(await spared.consume(subjects, { cost }), decision);
        return decision;
      });
    });
  });

  test("peek changes nothing, and says what consume then says", async () => {
    await tested.run(HISTORIES, async (random) => {
      const { limits, time, open } = stage(tested, random);
      const peeked = open(limits);
      const left = open(limits);
      await repeat(random, limits, time, async (subjects, cost) => {
        await peeked.peek(subjects, { cost: random.whole(0, 10) });
        const predicted = await peeked.peek(subjects, { cost });
        const decision = await peeked.consume(subjects, { cost });
        claimSame(predicted, decision);
        claimSame(await left.consume(subjects, { cost }), decision);
        claimReportsRest(await peeked.peek(subjects, { cost: 0 }), decision);
        return decision;
      });
    });
  });

  test("the order of limits in a policy does not matter", async () => {
    await tested.run(HISTORIES, async (random) => {
      const { limits, time, open } = stage(tested, random);
      const inOrder = open(limits);
      const shuffled = open(random.shuffle(limits));
      await repeat(random, limits, time, async (subjects, cost) => {
        const decision = await inOrder.consume(subjects, { cost });
        const other = await shuffled.consume(subjects, { cost });
        claimSame({ ...other, limits: byName(other) }, { ...decision, limits: byName(decision) });
        return decision;
      });
    });
  });

  test("the same policy in another order is the same limiter", async () => {
    await tested.run(HISTORIES, async (random) => {
      const { limits, time, open } = stage(tested, random);
      const alone = open(limits);
      const store = tested.open(time.clock);
      const shared = [limits, random.shuffle(limits)].map((order) =>
        createLimiter({ ...STORE_ALONE, name: "shared", limits: order, store }),
      );
      await repeat(random, limits, time, async (subjects, cost) => {
        const decision = await alone.consume(subjects, { cost });
        const other = await random.pick(shared).consume(subjects, { cost });
        claimSame({ ...other, limits: byName(other) }, { ...decision, limits: byName(decision) });
        return decision;
      });
    });
  });

  test("evicting a counter that has fully recovered changes nothing", async () => {
    await tested.run(HISTORIES, async (random) => {
      const { limits, time, open } = stage(tested, random, 1);
      const forgetful = open(limits);
      const faithful = open(limits);
      let last: Decision | undefined;
      for (let step = 0; step < LENGTH; step++) {
        time.advance(randomWait(random, last, last === undefined ? [] : changeTimesOf(last)));
        const cost = randomCost(random, last);
        last = await faithful.consume("somebody", { cost });
        claimSame(await forgetful.consume("somebody", { cost }), last);
        const unused = Math.max(...last.limits.map(({ resetAfterMs }) => resetAfterMs));
        if (random.chance(0.3) && time.advance(BigInt(unused) * 1_000n)) {
          await forgetful.reset("somebody");
        }
      }
    });
  });
});

/** A policy, a clock, and a function that opens limiters on separate stores. */
function stage(tested: StoreUnderTest, random: Random, dimensions = 3) {
  const time = new MicroClock(randomStart(random));
  const limits = randomPolicy(random, random.whole(1, 4), dimensions);
  const open = (order: readonly Limit[]): Limiter =>
    createLimiter({
      ...STORE_ALONE,
      name: "lawful",
      limits: order,
      store: tested.open(time.clock),
    });
  return { time, limits, open };
}

/** Sends requests of random costs after random waits. */
async function repeat(
  random: Random,
  limits: readonly Limit[],
  time: MicroClock,
  decide: (subjects: Record<string, string>, cost: number) => Promise<Decision>,
): Promise<void> {
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  let last: Decision | undefined;
  for (let step = 0; step < LENGTH; step++) {
    time.advance(randomWait(random, last, last === undefined ? [] : changeTimesOf(last)));
    last = await decide(randomSubjects(random, dimensions), randomCost(random, last));
  }
}

function byName({ limits }: Decision): Decision["limits"] {
  return limits.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A peek of nothing is allowed, and reports what the decision before it left. */
function claimReportsRest({ allowed, cost, limits }: Decision, before: Decision): void {
  const left = before.limits.map((limit) => ({ ...limit, allowed: true, retryAfterMs: 0 }));
  claim(allowed && cost === 0, () => `allowed ${allowed}, cost ${cost}`);
  claim(JSON.stringify(limits) === JSON.stringify(left), () => {
    return `${JSON.stringify(limits)} is not ${JSON.stringify(left)}`;
  });
}
