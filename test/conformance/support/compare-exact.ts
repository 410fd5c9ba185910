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

/** The number of compared operations, so that the comparison does not shrink by accident. */
export interface OperationCounts {
  requests: number;
  requestsWithOtherLimits: number;
  /** Requests that reported a block. */
  requestsBlocked: number;
  /** Requests for up to so many units that got some of them, but not all. */
  requestsGrantedInPart: number;
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
    requestsGrantedInPart: 0,
    charged: 0,
    settled: 0,
    refunded: 0,
    released: 0,
    blocked: 0,
    reset: 0,
  };
}

/** The number of all compared operations. */
export function countOperations({
  requestsWithOtherLimits,
  requestsBlocked,
  requestsGrantedInPart,
  ...done
}: OperationCounts): number {
  return Object.values(done).reduce((sum, count) => sum + count, 0);
}

/** The random steps of a history. */
export interface Steps {
  readonly length: number;
  /** The start time in microseconds. Default: mostly the present. */
  readonly start?: bigint;
  /** Microseconds. */
  readonly wait: (last: Decision | undefined, oracle: Oracle) => bigint;
  readonly cost: (last: Decision | undefined) => Cost;
  /** Whether there are charges, settles and refunds between the requests. */
  readonly charges?: boolean;
  /** Whether some requests bring other limits. */
  readonly changes?: boolean;
  /** Milliseconds of an occasional manual block; 0 ends a block. */
  readonly block?: (last: Decision) => number;
  /** Whether some requests use a limiter in shadow mode. */
  readonly shadow?: boolean;
  /** Whether many requests are for up to their cost. */
  readonly upTo?: boolean;
  /** Whether slots are released. */
  readonly releases?: boolean;
}

/** Compares random operations of a limiter on memoryStore with those of the oracle. */
export async function compareExact(
  random: Random,
  written: readonly Limit[],
  steps: Steps,
  done: OperationCounts,
): Promise<void> {
  const time = new MicroClock(steps.start ?? randomStart(random));
  const store = memoryStore({ clock: time.clock });
  // A default name contains the numbers of a limit, so changing limits need a fixed name.
  const limits = steps.changes
    ? written.map((limit) => ({ name: nameOf(limit), ...limit }))
    : written;
  const options: LimiterOptions = { ...STORE_ALONE, name: "compared", limits, store };
  const limiter = createLimiter(options);
  const inShadow = steps.shadow ? createLimiter({ ...options, shadow: true }) : limiter;
  const oracle = new Oracle(limits, true);
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  // With a single subject memory sweeps nothing, so the limits may drain at different rates.
  const isAlone = dimensions.length === 1 && random.chance(0.5);
  const other = isAlone ? withOtherValues : withOtherCapacity;
  const plans = [limits, ...(steps.changes ? otherPlansOf(random, limits, other) : [])];
  /** Admitted requests: the decisions of the limiter and the oracle. */
  const admitted: [Decision, Decision][] = [];
  let last: Decision | undefined;
  for (let step = 0; step < steps.length; step++) {
    time.advance(steps.wait(last, oracle));
    const subjects = randomSubjects(random, dimensions, isAlone ? 1 : 0.85);
    const asked = steps.cost(last);
    const charges = !random.chance(0.1);
    const plan = steps.changes ? random.pick(plans) : limits;
    const sender = steps.shadow && random.chance(0.1) ? inShadow : limiter;
    const shadow = sender !== limiter;
    oracle.change(plan);
    const upTo = steps.upTo && random.chance(0.6) ? Number(asked) : undefined;
    const units = upTo && oracle.mostAdmitted(subjects, upTo, time.now);
    const cost = units === undefined ? asked : Math.max(1, units);
    last = oracle.decide(subjects, cost, time.now, { charges, shadow });
    const decide = charges ? sender.consume : sender.peek;
    const context = () =>
      `step ${step}, ${JSON.stringify({ charges, shadow, cost, upTo, subjects, limits, plan })} at ${time.now}`;
    const more = plan === limits ? {} : { limits: plan };
    const decision =
      upTo === undefined
        ? await decide(subjects, { cost, ...more })
        : await decide(subjects, { upTo, ...more });
    claimSame(decision, last, context);
    if (upTo !== undefined) {
      const { granted = 0 } = decision;
      claim(granted === (shadow ? upTo : units), () => `grants ${granted}, ${context()}`);
      if (granted > 0 && granted < upTo) done.requestsGrantedInPart += 1;
    }
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
        const refunded = await limiter.refund(own);
        claim(
          refunded === oracle.refund(exact, time.now),
          () => `refunds ${refunded}, ${context()}`,
        );
        done.refunded += 1;
      }
    }
    if (steps.releases && admitted.length > 0 && random.chance(0.3)) {
      const [own, exact] = random.pick(admitted.slice(-8));
      const released = await limiter.release(own);
      claim(
        released === oracle.release(exact, time.now),
        () => `releases ${released}, ${context()}`,
      );
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

/** Two plans with other values for most limits. */
function otherPlansOf(
  random: Random,
  limits: readonly Limit[],
  other: (random: Random, limit: Limit) => Limit,
): Limit[][] {
  return [1, 2].map(() =>
    limits.map((limit) => (random.chance(0.2) ? limit : other(random, limit))),
  );
}
