import type { Cost } from "./cost.ts";
import type { LimitDescription } from "./policy.ts";

/** The state of one limit in a decision. */
export interface LimitState extends LimitDescription {
  /** Whether this limit alone would have allowed the request. */
  readonly allowed: boolean;
  /** Whole units left, never negative. */
  readonly remaining: number;
  /**
   * Units used beyond the limit, because the limit was lowered or a charge exceeded what was left. They must drain or expire
   * before any units remain. Usually 0.
   */
  readonly overdrawn: number;
  /** Milliseconds until this limit would allow the same cost, rounded up; 0 when it allows, `Infinity` when it never will. */
  readonly retryAfterMs: number;
  /** Milliseconds until this limit has fully recovered if nothing more is charged, rounded up. */
  readonly resetAfterMs: number;
  /** Milliseconds until `remaining` grows, rounded up; 0 when the limit is unused. */
  readonly refillAfterMs: number;
}

/** The origin of a decision. With the last three, the store did not reply. */
export type DecisionSource = "store" | "deny-cache" | "lease" | "local" | "allow" | "deny";

/** The decision on one request: plain read-only data, safe to log. `JSON.stringify` writes `Infinity` as `null`. */
export interface Decision {
  readonly allowed: boolean;
  /**
   * The most that the binding limit grants at once. The binding limit has the longest wait if denied, the least `remaining /
   * limit` if allowed; `shadow` does not change which it is.
   */
  readonly limit: number;
  /** Whole units left in the binding limit; never negative. */
  readonly remaining: number;
  /** Milliseconds until the same request can succeed, rounded up; 0 when allowed, `Infinity` when its cost never fits. */
  readonly retryAfterMs: number;
  /** Milliseconds until the binding limit has fully recovered if nothing more is charged, rounded up. */
  readonly resetAfterMs: number;
  /** Every limit, in the order of the policy, except limits left out by a cost by name. */
  readonly limits: readonly LimitState[];
  /**
   * The cost of the request; for a cost by name, the cost of each limit. With `upTo`, the charged units, or 1 if denied: then
   * `retryAfterMs` is the wait for one unit.
   */
  readonly cost: Cost;
  /**
   * With `upTo`, the units that the caller may use: from 1 to `upTo`, or 0 if denied. In shadow mode always `upTo`, also where
   * `cost`, the charged units, is less. Missing without `upTo`.
   */
  readonly granted?: number | undefined;
  /** The origin of the decision: the store, or its replacement. */
  readonly source: DecisionSource;
  /** True if the store could not answer, false otherwise. */
  readonly degraded: boolean;
  /** True if a block denied the request, whether a limit or an operator set it. */
  readonly blocked: boolean;
  /** True if an operator's override was in effect: limits, or a `shadow`, other than the application's. */
  readonly overridden: boolean;
  /** True for a limiter in shadow mode, which denies no request: `allowed` is always true. */
  readonly shadow: boolean;
  /** The value of `allowed` without `shadow`. */
  readonly wouldAllow: boolean;
  /**
   * For a decision that took a concurrency slot: aborts when the slot is lost or, in HTTP, when the client disconnects.
   * Otherwise undefined. Not enumerable.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Whether a limit is a concurrency limit: there is no way to know when a slot comes free. */
export function isConcurrencyLimit({ windowMs }: LimitDescription): boolean {
  return windowMs === 0;
}

/**
 * The binding limit: the longest wait if denied, the smallest remaining share if allowed; ties go to the longer window, then to
 * the name.
 */
export function bindingLimit(limits: readonly LimitState[], allowed: boolean): LimitState {
  let binding = limits[0] as LimitState;
  for (let i = 1; i < limits.length; i += 1) {
    const next = limits[i] as LimitState;
    if (isTighter(next, binding, allowed)) binding = next;
  }
  return binding;
}

/** The sign of `a * b - c * d`, even if the products exceed 2^53. */
function compareProducts(a: number, b: number, c: number, d: number): number {
  const first = a * b;
  const second = c * d;
  if (first !== second || first <= Number.MAX_SAFE_INTEGER) return first - second;
  return Number(BigInt(a) * BigInt(b) - BigInt(c) * BigInt(d));
}

/** For a limit of 0, the remaining share is the smallest possible. */
function shareDivisor({ limit }: LimitState): number {
  return Math.max(1, limit);
}

function isTighter(next: LimitState, binding: LimitState, allowed: boolean): boolean {
  const difference = allowed
    ? compareProducts(binding.remaining, shareDivisor(next), next.remaining, shareDivisor(binding))
    : next.retryAfterMs - binding.retryAfterMs;
  // Infinity - Infinity is NaN: neither can ever pass, which is a tie.
  if (difference !== 0 && !Number.isNaN(difference)) return difference > 0;
  if (next.windowMs !== binding.windowMs) return next.windowMs > binding.windowMs;
  return next.name < binding.name;
}
