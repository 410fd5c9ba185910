/**
 * One limit's definition applied to one subject, in integer microseconds and exact integers. Times never step back.
 * Each estimate at `now` assumes no further charges.
 */
export interface Account {
  /** Microseconds until `cost`, which is at most the capacity, fits; 0 when it fits now. */
  untilFits(cost: bigint, now: bigint): bigint;
  /** Whole units left. Negative when the account was charged under a larger capacity. */
  remaining(now: bigint): bigint;
  /** Microseconds until `remaining` grows; 0 when the account is unused. */
  untilRefill(now: bigint): bigint;
  /** Microseconds until no charge counts any more. */
  untilReset(now: bigint): bigint;
  charge(cost: bigint, now: bigint): void;
  /** Refunds the units of a charge that still count. Returns false when none do. */
  refund(cost: bigint, charged: bigint, now: bigint): boolean;
  /** Applies the time that has passed under the present limits, before other limits take effect. */
  advance(now: bigint): void;
  copy(): Account;
}

/** The definition of a limit: its capacity, its window, and the accounts that implement it. */
export interface Definition {
  /** The largest burst, in units. */
  readonly capacity: bigint;
  /** Microseconds until the whole capacity is refilled, rounded up. */
  readonly window: bigint;
  /** The length of the window at `now`, if windows differ in length. */
  readonly windowAt?: (now: bigint) => bigint;
  open(): Account;
  /** Copies an account of the same shape, which continues under this definition. */
  adopt(account: Account): Account;
}

/** The greatest whole number not above `numerator / denominator`, which is positive. */
export function floorDivide(numerator: bigint, denominator: bigint): bigint {
  return numerator < 0n ? -((denominator - 1n - numerator) / denominator) : numerator / denominator;
}

/** Units left for the purpose of growth: an overdrawn account counts as empty. */
export function clampToZero(units: bigint): bigint {
  return units > 0n ? units : 0n;
}

/** The least whole number not below `numerator / denominator`; both positive, or the numerator zero or less. */
export function ceilDivide(numerator: bigint, denominator: bigint): bigint {
  return numerator <= 0n ? numerator / denominator : (numerator + denominator - 1n) / denominator;
}
