import type { Cost, Decision, Limit, LimiterOptions } from "@headgate/core";
import { createLimiter, memoryStore } from "@headgate/core";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { nameOf } from "../oracle/definition.ts";
import { Oracle } from "../oracle/oracle.ts";
import { withOtherCapacity, withOtherValues } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCharge, randomStart, randomSubjects, randomUnits } from "../random/steps.ts";
import { claim, claimSame, claimSameCharge } from "./claim.ts";
import { MicroClock } from "./micro-clock.ts";

/** What was done to both, so that nobody makes it less by accident. */
export interface OperationCounts {
  requests: number;
  requestsWithOtherLimits: number;
  /** Told of a block. */
  requestsBlocked: number;
  charged: number;
  settled: number;
  refunded: number;
  released: number;
  blocked: number;
  reset: number;
}

export function createOperationCounts(): OperationCounts {
  return {
    requests: 0,
    requestsWithOtherLimits: 0,
    requestsBlocked: 0,
    charged: 0,
    settled: 0,
    refunded: 0,
    released: 0,
    blocked: 0,
    reset: 0,
  };
}

/** All operations that were compared. */
export function countOperations({
  requestsWithOtherLimits,
  requestsBlocked,
  ...done
}: OperationCounts): number {
  return Object.values(done).reduce((sum, count) => sum + count, 0);
}

/** What happens in a history. */
export interface Steps {
  readonly length: number;
  /** Where it begins, in microseconds. Default: mostly the present. */
  readonly start?: bigint;
  /** Microseconds. */
  readonly wait: (last: Decision | undefined, oracle: Oracle) => bigint;
  readonly cost: (last: Decision | undefined) => Cost;
  /** Whether there are charges, settles and refunds between the requests. */
  readonly charges?: boolean;
  /** Whether some requests bring other numbers. */
  readonly changes?: boolean;
  /** Milliseconds to block by hand, now and then; 0 to end a block. */
  readonly block?: (last: Decision) => number;
  /** Whether some requests are of a limiter in shadow. */
  readonly shadow?: boolean;
  /** Whether places are given back. */
  readonly releases?: boolean;
}

/** Does the same random things with a limiter in this process and with the oracle. */
export async function compareExact(
  random: Random,
  written: readonly Limit[],
  steps: Steps,
  done: OperationCounts,
): Promise<void> {
  const time = new MicroClock(steps.start ?? randomStart(random));
  const store = memoryStore({ clock: time.clock });
  // Other numbers would make another name of the numbers.
  const limits = steps.changes
    ? written.map((limit) => ({ name: nameOf(limit), ...limit }))
    : written;
  const options: LimiterOptions = { ...STORE_ALONE, name: "compared", limits, store };
  const limiter = createLimiter(options);
  const inShadow = steps.shadow ? createLimiter({ ...options, shadow: true }) : limiter;
  const oracle = new Oracle(limits, true);
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  // Whoever is alone is not swept out, as if all had drained by the numbers that were written last.
  const isAlone = dimensions.length === 1 && random.chance(0.5);
  const other = isAlone ? withOtherValues : withOtherCapacity;
  const plans = [limits, ...(steps.changes ? otherPlansOf(random, limits, other) : [])];
  /** What was admitted: the limiter's decision, and the oracle's. */
  const admitted: [Decision, Decision][] = [];
  let last: Decision | undefined;
  for (let step = 0; step < steps.length; step++) {
    time.advance(steps.wait(last, oracle));
    const subjects = randomSubjects(random, dimensions, isAlone ? 1 : 0.85);
    const cost = steps.cost(last);
    const charges = !random.chance(0.1);
    const plan = steps.changes ? random.pick(plans) : limits;
    const asker = steps.shadow && random.chance(0.1) ? inShadow : limiter;
    const shadow = asker !== limiter;
    oracle.change(plan);
    last = oracle.decide(subjects, cost, time.now, { charges, shadow });
    const ask = charges ? asker.consume : asker.peek;
    const context = () =>
      `step ${step}, ${JSON.stringify({ charges, shadow, cost, subjects, limits, plan })} at ${time.now}`;
    const decision = await ask(subjects, plan === limits ? { cost } : { cost, limits: plan });
    claimSame(decision, last, context);
    done.requests += 1;
    if (plan !== limits) done.requestsWithOtherLimits += 1;
    if (decision.blocked) done.requestsBlocked += 1;
    if (charges && decision.wouldAllow && !shadow) admitted.push([decision, last]);
    if (steps.charges && random.chance(0.05)) {
      const units = randomCharge(random, last);
      const charged = await limiter.charge(subjects, { cost: units });
      oracle.change(limits);
      claimSameCharge(charged, oracle.charge(subjects, units, time.now), context);
      done.charged += 1;
    }
    if (steps.charges && admitted.length > 0 && random.chance(0.15)) {
      const [own, exact] = random.pick(admitted.slice(-20));
      if (typeof own.cost === "number" && random.chance(0.7)) {
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
    if (steps.releases && admitted.length > 0 && random.chance(0.3)) {
      const [own, exact] = random.pick(admitted.slice(-8));
      const given = await limiter.release(own);
      claim(given === oracle.release(exact, time.now), () => `releases ${given}, ${context()}`);
      done.released += 1;
    }
    if (steps.block !== undefined && random.chance(0.05)) {
      const span = steps.block(last);
      if (span > 0) {
        await limiter.block(subjects, span);
        oracle.block(subjects, BigInt(span) * 1_000n, time.now);
      } else {
        const wasBlocked = await limiter.unblock(subjects);
        const isSame = wasBlocked === oracle.unblock(subjects, time.now);
        claim(isSame, () => `unblocks ${wasBlocked}, ${context()}`);
      }
      done.blocked += 1;
    }
    if (random.chance(0.01) && !(steps.changes && isAlone)) {
      await limiter.reset(subjects);
      oracle.reset(subjects);
      done.reset += 1;
    }
  }
}

/** Other numbers for limits, for some of them the same. */
function otherPlansOf(
  random: Random,
  limits: readonly Limit[],
  other: (random: Random, limit: Limit) => Limit,
): Limit[][] {
  return [1, 2].map(() =>
    limits.map((limit) => (random.chance(0.2) ? limit : other(random, limit))),
  );
}
