/*
 * Exact integer arithmetic on doubles. The twin of mulDiv is `division` in limit.lua.
 *
 * All times are integer microseconds. The longest window is below 2^45, counts are at most 2 * 10^9 < 2^31.
 */

const SAFE = Number.MAX_SAFE_INTEGER;

/**
 * The longest wait that is reported, in microseconds: 285 years. A whole number of milliseconds, and below the last integers
 * before 2^53, which the parsers of ioredis 6 and node-redis 6 misread by one.
 */
export const MAX_MICROS = 9_007_199_254_740_000;

/** A wait that never ends: the cost exceeds the limit. Waits are plain numbers because replies are arrays of integers. */
export const NEVER = -1;

/** The remainder left by the last call of `mulDiv`: a second return value without an allocation. */
export let mulDivRemainder = 0;

/**
 * `a * b / n` as whole units, the remainder of n-ths in `mulDivRemainder`, for `b` and `n` < 2^45; exact where the units are
 * below 2^53.
 */
export function mulDiv(a: number, b: number, n: number): number {
  const product = a * b;
  if (product <= SAFE) {
    // A quotient of integers below 2^53 is never rounded up to an integer. `%` alone takes longer than all of this.
    const whole = Math.floor(product / n);
    mulDivRemainder = product - whole * n;
    return whole;
  }
  // Long multiplication, 7 bits of b at a time: part * 128 + odd * digit < 2^45 * 255 < 2^53.
  const odd = a % n;
  const turned = ((a - odd) / n) * b;
  let whole = 0;
  let part = 0;
  let rest = b;
  for (let scale = 2 ** 42; scale >= 1; scale /= 128) {
    const digit = (rest - (rest % scale)) / scale;
    rest %= scale;
    const sum = part * 128 + odd * digit;
    part = sum % n;
    whole = whole * 128 + (sum - part) / n;
  }
  mulDivRemainder = part;
  return turned + whole;
}

/** The bytes that a whole number below `bound` takes. */
export function byteSizeBelow(bound: number): number {
  return Math.max(1, Math.ceil(Math.log2(bound) / 8));
}
