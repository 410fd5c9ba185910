import type { TokenBucketLimit, WithoutPer, WithPer } from "../policy.ts";
import { formatDuration, toMilliseconds } from "../time.ts";
import type { Algorithm, CompiledLimit } from "./algorithm.ts";
import { greatestCommonDivisor, LONGEST, mulDiv, mulDivPart, NEVER } from "./exact.ts";
import { readCount, readRate, readWindow, requireShape } from "./read-limit.ts";

/*
 * Token bucket, counted as debt: what was spent and has not come back. Twin of token-bucket.lua. GCRA is the same
 * arithmetic told in other words, and uses it.
 *
 * State  whole, part: the debt is whole + part / every units; it is never above capacity.
 * Quota  capacity: the most units at once. refill units come back every `every` microseconds, continuously;
 *        refill <= every, both reduced by their common divisor.
 * Source ITU-T I.371 (GCRA as a continuous-state leaky bucket); capacity minus debt is the level of a token bucket.
 */
interface Debt {
  whole: number;
  part: number;
}

interface BucketQuota {
  readonly capacity: number;
  readonly refill: number;
  readonly every: number;
}

const bucket: Algorithm<Debt, BucketQuota> = {
  name: "bucket",

  fresh: () => ({ whole: 0, part: 0 }),

  copy: ({ whole, part }) => ({ whole, part }),

  advance(state, quota, elapsed) {
    if (elapsed > 0 && (state.whole > 0 || state.part > 0)) drain(state, quota, elapsed);
  },

  wait(state, quota, cost) {
    if (cost > quota.capacity) return NEVER;
    const excess = state.whole + cost - quota.capacity;
    if (excess < 0 || (excess === 0 && state.part === 0)) return 0;
    return drainTime(quota, excess, state.part);
  },

  spend(state, _, cost) {
    state.whole += cost;
  },

  // What is left of a charge is at least its cost less all that drained since: giving back that much can never
  // leave more room than if it had not been asked.
  refund(state, quota, cost, age) {
    const left = { whole: cost, part: 0 };
    drain(left, quota, age);
    if (left.whole === 0 && left.part === 0) return false;
    state.whole -= left.whole;
    state.part -= left.part;
    if (state.part < 0) {
      state.whole -= 1;
      state.part += quota.every;
    }
    return true;
  },

  report({ whole, part }, quota) {
    if (part > 0) {
      return {
        remaining: quota.capacity - whole - 1,
        reset: drainTime(quota, whole, part),
        growth: drainTime(quota, 0, part),
      };
    }
    if (whole > 0) {
      return {
        remaining: quota.capacity - whole,
        reset: drainTime(quota, whole, 0),
        growth: drainTime(quota, 1, 0),
      };
    }
    return { remaining: quota.capacity, reset: 0, growth: 0 };
  },
};

/** Microseconds in which a debt of `whole + part / every` drains, rounded up. */
function drainTime(quota: BucketQuota, whole: number, part: number): number {
  const { refill, every } = quota;
  const debt = whole * every + part;
  if (debt <= LONGEST) {
    const rest = debt % refill;
    return (debt - rest) / refill + (rest > 0 ? 1 : 0);
  }
  const micros = mulDiv(whole, every, refill);
  const rest = mulDivPart;
  const last = (rest + part) % refill;
  const time = micros + (rest + part - last) / refill + (last > 0 ? 1 : 0);
  return Math.min(time, LONGEST);
}

/** Lets `elapsed` microseconds of refill reduce the debt. */
function drain(debt: Debt, quota: BucketQuota, elapsed: number): void {
  const { refill, every } = quota;
  const units = mulDiv(elapsed, refill, every);
  let whole = debt.whole - units;
  let part = debt.part - mulDivPart;
  if (part < 0) {
    whole -= 1;
    part += every;
  }
  if (whole < 0) {
    whole = 0;
    part = 0;
  }
  debt.whole = whole;
  debt.part = part;
}

/** A bucket of `capacity` into which `refill` units come back every `every` microseconds, ready to be decided. */
export function compileBucket(
  capacity: number,
  refill: number,
  every: number,
): Pick<
  CompiledLimit<Debt, BucketQuota>,
  "algorithm" | "quota" | "parameters" | "limit" | "windowMs" | "hasLog"
> {
  const divisor = greatestCommonDivisor(refill, every);
  const quota = { capacity, refill: refill / divisor, every: every / divisor };
  return {
    algorithm: bucket,
    quota,
    parameters: [quota.capacity, quota.refill, quota.every],
    limit: capacity,
    windowMs: toMilliseconds(drainTime(quota, capacity, 0)),
    hasLog: false,
  };
}

/**
 * A bucket of `capacity` tokens (1 to 10^9) into which `refill` tokens (1 to 10^9, at most 10^6 per second)
 * come back every `every` (1 ms to 366 days), continuously.
 *
 * Never more than `capacity + refill * t / every` in any time t. Throws `HEADGATE_INVALID_LIMIT` when it is used.
 */
export function tokenBucket(options: WithoutPer<TokenBucketLimit<never>>): TokenBucketLimit<never>;
export function tokenBucket<const Per extends string>(
  options: WithPer<TokenBucketLimit<Per>>,
): TokenBucketLimit<Per>;
export function tokenBucket(options: Omit<TokenBucketLimit, "algorithm">): TokenBucketLimit;
export function tokenBucket(options: Omit<TokenBucketLimit, "algorithm">): TokenBucketLimit {
  return { algorithm: "tokenBucket", ...options };
}

export function compileTokenBucket(limit: TokenBucketLimit): CompiledLimit<Debt, BucketQuota> {
  requireShape(limit, ["capacity", "refill", "every"]);
  const capacity = readCount(limit, "capacity");
  const every = readWindow(limit, "every");
  const refill = readRate(limit, "refill", every, "every");
  return {
    ...compileBucket(capacity, refill, every),
    name: limit.name ?? `${refill}-per-${formatDuration(every)}`,
    per: limit.per ?? "default",
    source: limit,
    canonical: `tokenBucket(${capacity},${refill},${every})`,
  };
}
