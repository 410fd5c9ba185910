import type { CheckedBlock, TokenBucketLimit, WithoutPer, WithPer } from "../common/policy.ts";
import type { CheckedDuration } from "../common/time.ts";
import { formatDuration, toMilliseconds } from "../common/time.ts";
import type { Algorithm, CompiledAlgorithm, CompiledLimit, LimitShape } from "./algorithm.ts";
import { byteSizeBelow, MAX_MICROS, mulDiv, mulDivRemainder, NEVER } from "./exact-arithmetic.ts";
import { readCount, readRate, readWindow, requireKnownOptions } from "./read-limit.ts";

/*
 * Token bucket, counted as debt: the spent units that have not drained yet. Twin of token-bucket.lua. GCRA uses the same
 * arithmetic under other names.
 *
 * State  whole, part: the debt is whole + part / every units. It exceeds capacity if that was larger before, or more was
 *        charged than was left.
 *        fastest: the largest refill with which time has passed in this generation of the counter. It outlasts the debt,
 *        because earlier charges may still be refunded and must not be mistaken for later ones.
 * Quota  capacity: the most units at once. refill units drain every `every` microseconds, continuously; refill <= every.
 * Source ITU-T I.371 (GCRA as a continuous-state leaky bucket); capacity minus debt is the level of a token bucket.
 */
interface BucketState {
  whole: number;
  part: number;
  fastest: number;
}

interface BucketQuota {
  readonly capacity: number;
  readonly refill: number;
  readonly every: number;
}

const bucketAlgorithm: Algorithm<BucketState, BucketQuota> = {
  createState: () => ({ whole: 0, part: 0, fastest: 0 }),

  readState: ([whole, part, fastest]) => ({ whole, part, fastest }) as BucketState,

  loadState(state, from, at) {
    state.whole = from[at] as number;
    state.part = from[at + 1] as number;
    state.fastest = from[at + 2] as number;
  },

  storeState(state, to, at) {
    to[at] = state.whole;
    to[at + 1] = state.part;
    to[at + 2] = state.fastest;
  },

  copyState: (state) => ({ ...state }),

  advance(state, quota, elapsed) {
    if (state.fastest < quota.refill) state.fastest = quota.refill;
    if (elapsed > 0 && (state.whole > 0 || state.part > 0)) drain(state, quota, elapsed);
  },

  waitTime(state, quota, cost) {
    if (cost > quota.capacity) return NEVER;
    const excess = state.whole + cost - quota.capacity;
    if (excess < 0 || (excess === 0 && state.part === 0)) return 0;
    return drainTime(quota, excess, state.part);
  },

  spend(state, _, cost) {
    state.whole += cost;
  },

  // The remainder of a charge is at least its cost minus all that can have drained since. Refunding that much never leaves more
  // room than if the request had not been made.
  refund(state, { every }, cost, age) {
    const drained = mulDiv(age, state.fastest, every);
    if (drained >= cost) return false;
    state.whole += drained - cost;
    state.part += mulDivRemainder;
    if (state.part >= every) {
      state.whole += 1;
      state.part -= every;
    }
    return true;
  },

  report(state, quota) {
    const { whole, part } = state;
    if (whole === 0 && part === 0)
      return { remaining: quota.capacity, resetAfter: 0, refillAfter: 0 };
    const remaining = quota.capacity - whole - (part > 0 ? 1 : 0);
    // Above capacity, several units have to drain before one is available; with a capacity of 0, all of them.
    const [units, rest] =
      remaining < 0
        ? [Math.min(1, quota.capacity) - quota.capacity + whole, part]
        : part > 0
          ? [0, part]
          : [1, 0];
    return {
      remaining,
      resetAfter: drainTime(quota, whole, part),
      refillAfter: drainTime(quota, units, rest),
    };
  },
};

/** Microseconds in which a debt of `whole + part / every` drains, rounded up. */
function drainTime(quota: BucketQuota, whole: number, part: number): number {
  const { refill, every } = quota;
  const debt = whole * every + part;
  if (debt <= MAX_MICROS) return Math.ceil(debt / refill);
  const micros = mulDiv(whole, every, refill);
  const rest = mulDivRemainder;
  const last = (rest + part) % refill;
  const time = micros + (rest + part - last) / refill + (last > 0 ? 1 : 0);
  return Math.min(time, MAX_MICROS);
}

/** Lets `elapsed` microseconds of refill reduce the debt. */
function drain(debt: BucketState, quota: BucketQuota, elapsed: number): void {
  const { refill, every } = quota;
  const units = mulDiv(elapsed, refill, every);
  let whole = debt.whole - units;
  let part = debt.part - mulDivRemainder;
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

/** A bucket of `capacity` that regains `refill` units every `every` microseconds, compiled. */
export function compileBucket(
  capacity: number,
  refill: number,
  every: number,
): Pick<
  CompiledLimit<BucketState, BucketQuota>,
  "algorithm" | "quota" | "parameters" | "limit" | "windowMs"
> {
  const quota = { capacity, refill, every };
  return {
    algorithm: bucketAlgorithm,
    quota,
    parameters: [capacity, refill],
    limit: capacity,
    // A window of 0 would mean a concurrency limit.
    windowMs: toMilliseconds(capacity === 0 ? every : drainTime(quota, capacity, 0)),
  };
}

/** The shape of buckets with the same fill time; `id` is its name. */
export function bucketShape(id: string, every: number): LimitShape {
  return {
    id,
    luaFile: "token-bucket",
    state: [
      ["whole", 4],
      ["part", byteSizeBelow(every)],
      ["fastest", 4],
    ],
    parameters: ["capacity", "refill"],
    constants: { PERIOD: String(every) },
  };
}

/**
 * A bucket of `capacity` tokens (0 to 10^9) into which `refill` tokens (1 to 10^9, at most 10^6 per second) come back every
 * `every` (1 ms to 366 days), continuously.
 *
 * Admits at most `capacity + refill * t / every` in any time t. A limiter that uses an invalid limit throws
 * `HEADGATE_INVALID_LIMIT`.
 */
export function tokenBucket<const Text extends string = string>(
  options: WithoutPer<TokenBucketLimit<never>> &
    CheckedBlock<Text> & { readonly every: CheckedDuration<Text> },
): TokenBucketLimit<never>;
export function tokenBucket<const Per extends string, const Text extends string = string>(
  options: WithPer<TokenBucketLimit<Per>> &
    CheckedBlock<Text> & { readonly every: CheckedDuration<Text> },
): TokenBucketLimit<Per>;
export function tokenBucket<const Text extends string = string>(
  options: Omit<TokenBucketLimit, "algorithm"> &
    CheckedBlock<Text> & { readonly every: CheckedDuration<Text> },
): TokenBucketLimit;
export function tokenBucket(options: Omit<TokenBucketLimit, "algorithm">): TokenBucketLimit {
  return { algorithm: "tokenBucket", ...options };
}

export function compileTokenBucket(
  limit: TokenBucketLimit,
): CompiledAlgorithm<BucketState, BucketQuota> {
  requireKnownOptions(limit, ["capacity", "refill", "every"]);
  const capacity = readCount(limit, "capacity", undefined, 0);
  const every = readWindow(limit, "every");
  const refill = readRate(limit, "refill", every, "every", undefined, 1);
  return {
    ...compileBucket(capacity, refill, every),
    shape: bucketShape(`tokenBucket(${every})`, every),
    name: `${refill}-per-${formatDuration(every)}`,
    canonical: `tokenBucket(${capacity},${refill},${every})`,
  };
}
