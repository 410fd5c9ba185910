import type { Decision } from "@headgate/core";
import type { Random } from "./random.ts";

/** The most units that a counter can hold. */
const MAX_UNITS = 2_000_000_000;

/** A cost for the next request, near the boundaries of the last decision. */
export function randomCost(random: Random, last: Decision | undefined): number {
  if (last === undefined || random.chance(0.35)) return 1;
  const { remaining, limit } = random.pick(last.limits);
  const most = Math.min(...last.limits.map((state) => state.limit));
  const cost = random.pick([
    remaining,
    remaining + 1,
    random.magnitude(1, Math.max(1, remaining)),
    random.magnitude(1, most),
    random.magnitude(1, most),
    random.chance(0.2) ? limit + 1 : limit,
    random.chance(0.1) ? Number.MAX_SAFE_INTEGER : Math.ceil(most / 2),
  ]);
  // Limits seldom share a size; a cost that one of them can never grant tests little of the others.
  return Math.max(1, random.chance(0.1) ? cost : Math.min(cost, most));
}

/** Units to charge regardless of the units left: a random cost, or far more, up to more than a counter can hold. */
export function randomCharge(random: Random, last: Decision | undefined): number {
  if (last === undefined || random.chance(0.5)) return randomCost(random, last);
  const { remaining, overdrawn, limit } = random.pick(last.limits);
  const units = random.pick([
    remaining + 1,
    remaining + limit,
    overdrawn + 1,
    random.magnitude(1, limit * 10),
    random.magnitude(1, 2_000_000_000),
    MAX_UNITS - limit + remaining - overdrawn,
    random.chance(0.5) ? MAX_UNITS : Number.MAX_SAFE_INTEGER,
  ]);
  return Math.max(1, units);
}

/** The real cost of a decision: 0, less than, equal to, or more than its charge. */
export function randomUnits(random: Random, charged: Pick<Decision, "cost">): number {
  const cost = Number(charged.cost);
  if (random.chance(0.4)) return random.whole(0, cost);
  return cost + (random.chance(0.7) ? random.whole(0, 20) : random.magnitude(1, 2_000_000_000));
}

/** Milliseconds of a manual block: less than, equal to, or more than the last reported wait; 0 ends a block. */
export function randomBlock(random: Random, last: Decision | undefined): number {
  if (random.chance(0.4)) return 0;
  const near = (last?.retryAfterMs ?? 0) + random.pick([-1, 0, 1]);
  const span = last?.blocked && random.chance(0.5) ? near : random.magnitude(1, 1e9);
  return Number.isFinite(span) ? Math.max(1, Math.min(span, 366 * 86_400_000)) : 1;
}

/**
 * Microseconds to wait before the next request: none, one, or close to one of the `changeTimes` at which a limit
 * changes.
 */
export function randomWait(
  random: Random,
  last: Decision | undefined,
  changeTimes: readonly bigint[],
): bigint {
  if (last === undefined || random.chance(0.35)) return 0n;
  if (random.chance(0.1)) return 1n;
  const { windowMs } = random.pick(last.limits);
  const reported = random.pick(changeTimesOf(last));
  const exact = changeTimes.length > 0 ? random.pick(changeTimes) : reported;
  const window = Math.min(windowMs * 1_000, Number.MAX_SAFE_INTEGER);
  const wait = random.pick([
    exact,
    exact - 1n,
    exact + 1n,
    reported,
    reported - 1_000n,
    BigInt(random.whole(0, window)),
    BigInt(random.magnitude(1, window)),
    random.chance(0.05) ? BigInt(window) * 3n : exact / 2n,
  ]);
  return wait < 0n ? 0n : wait;
}

/** Like `randomWait`, but mostly so short that earlier charges still count. */
export function randomShortWait(random: Random, last: Decision | undefined): bigint {
  const wait = randomWait(random, last, []);
  return random.chance(0.6) ? wait / 10n : wait;
}

/** The times at which limits change, as a decision reports them, in microseconds from its time. */
export function changeTimesOf(decision: Decision): bigint[] {
  return decision.limits
    .flatMap(({ retryAfterMs, resetAfterMs, refillAfterMs }) => [
      retryAfterMs,
      resetAfterMs,
      refillAfterMs,
    ])
    .filter(Number.isFinite)
    .map((ms) => BigInt(ms) * 1_000n);
}

/** A start time in microseconds: mostly the present, sometimes the epoch. */
export function randomStart(random: Random): bigint {
  return random.chance(0.9)
    ? BigInt(random.whole(1_700_000_000_000_000, 1_900_000_000_000_000))
    : BigInt(random.whole(0, 1_000_000));
}

/** A subject for each dimension, mostly the same ones. */
export function randomSubjects(
  random: Random,
  dimensions: readonly string[],
  often = 0.85,
): Record<string, string> {
  return Object.fromEntries(
    dimensions.map((dimension) => [dimension, random.chance(often) ? "often" : "seldom"]),
  );
}
