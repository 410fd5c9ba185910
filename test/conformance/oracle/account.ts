/**
 * One limit's definition applied to one subject, in integer microseconds and exact integers. Times never step back.
 * Everything that is asked of an account at `now` takes it that nobody else spends from then on.
 */
export interface Account {
  /** Microseconds until `cost`, which is at most the capacity, fits; 0 when it fits now. */
  untilFits(cost: bigint, now: bigint): bigint;
  /** Whole units left; below 0 where more is used than the capacity, which was larger once. */
  remaining(now: bigint): bigint;
  /** Microseconds until `remaining` grows; 0 when unused. */
  untilRefill(now: bigint): bigint;
  /** Microseconds until everything that was charged has stopped to count. */
  untilReset(now: bigint): bigint;
  charge(cost: bigint, now: bigint): void;
  /** Takes back what is left of a charge; false when nothing is. */
  refund(cost: bigint, charged: bigint, now: bigint): boolean;
  /** Lets time pass by the present numbers, whichever will be asked next. */
  advance(now: bigint): void;
  copy(): Account;
}

/** A limit's definition: what it grants, and accounts that keep to it. */
export interface Definition {
  /** The most it grants at once. */
  readonly capacity: bigint;
  /** Microseconds in which the capacity comes back in full, rounded up. */
  readonly window: bigint;
  /** The same of the window in which a moment is, where they differ. */
  readonly windowAt?: (now: bigint) => bigint;
  open(): Account;
  /** A copy of an account of this shape that goes on by these numbers. */
  adopt(account: Account): Account;
}

/** The greatest whole number not above `numerator / denominator`, which is positive. */
export function floorDivide(numerator: bigint, denominator: bigint): bigint {
  return numerator < 0n ? -((denominator - 1n - numerator) / denominator) : numerator / denominator;
}

/** The units that are left of those that are granted, as far as growth goes: who is overdrawn has none. */
export function clampToZero(units: bigint): bigint {
  return units > 0n ? units : 0n;
}

/** The least whole number not below `numerator / denominator`; both positive, or the numerator zero or less. */
export function ceilDivide(numerator: bigint, denominator: bigint): bigint {
  return numerator <= 0n ? numerator / denominator : (numerator + denominator - 1n) / denominator;
}
