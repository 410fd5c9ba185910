import type { Cost } from "./cost.ts";
import type { LimitDescription } from "./policy.ts";

/** What one limit says of one request. */
export interface LimitState extends LimitDescription {
  /** Whether this limit alone would have allowed the request. */
  readonly allowed: boolean;
  /** Whole units left, never negative. */
  readonly remaining: number;
  /**
   * Units used beyond the limit, which was higher when they were, or of which more were charged than were left: they have to
   * drain, or expire, before any remain. Mostly 0.
   */
  readonly overdrawn: number;
  /** Milliseconds until this limit would allow the same cost, rounded up; 0 when it allows, `Infinity` when it never will. */
  readonly retryAfterMs: number;
  /** Milliseconds until this limit is as if unused, rounded up. */
  readonly resetAfterMs: number;
  /** Milliseconds until `remaining` grows, rounded up; 0 when the limit is unused. */
  readonly growsAfterMs: number;
}

/** Who answered; the last three mean that the store could not. */
export type DecisionSource = "store" | "deny-cache" | "lease" | "local" | "allow" | "deny";

/** The answer to one request. Plain, frozen in type, safe to log: `JSON.stringify` writes `Infinity` as `null`. */
export interface Decision {
  readonly allowed: boolean;
  /** Of the binding limit: the most it grants at once. The binding limit has the longest wait when denied, the least `remaining / limit` when allowed; in shadow as it would be without. */
  readonly limit: number;
  /** Whole units left in the binding limit; never negative. */
  readonly remaining: number;
  /** Milliseconds until the same request can succeed, rounded up; 0 when allowed, `Infinity` when its cost never fits. */
  readonly retryAfterMs: number;
  /** Milliseconds until the binding limit is as if unused, rounded up. */
  readonly resetAfterMs: number;
  /** Every limit, in the order of the policy; without those that a cost by name leaves out. */
  readonly limits: readonly LimitState[];
  /** The units asked for; where they were given by name, those of each limit that was asked, by its name. */
  readonly cost: Cost;
  readonly source: DecisionSource;
  /** True exactly when the store could not answer. */
  readonly degraded: boolean;
  /** True when a block denied: a limit's that was exceeded before, or one by hand. */
  readonly blocked: boolean;
  /** True where an operator's override was in force: other numbers than the application's, or another `shadow`. */
  readonly overridden: boolean;
  /** True for a limiter in shadow, which denies nobody: `allowed` is true whatever the limits say. */
  readonly shadow: boolean;
  /** What `allowed` is, or would be without `shadow`. */
  readonly wouldAllow: boolean;
  /**
   * Of a decision that took a place: aborts when the place is lost, or, in HTTP, when its client has left. Undefined for all
   * others. Not enumerable.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Whether a limit is of places: nobody knows when one comes free. */
export function isOfPlaces({ windowMs }: LimitDescription): boolean {
  return windowMs === 0;
}

/** The limit whose numbers speak for all: the longest wait when denied, the least share left when allowed; ties go to the longer window, then to the name. */
export function bindingLimit(limits: readonly LimitState[], allowed: boolean): LimitState {
  let binding = limits[0] as LimitState;
  for (let i = 1; i < limits.length; i += 1) {
    const next = limits[i] as LimitState;
    if (isTighter(next, binding, allowed)) binding = next;
  }
  return binding;
}

/** The sign of `a * b - c * d`, also where the products pass 2^53. */
function compareProducts(a: number, b: number, c: number, d: number): number {
  const first = a * b;
  const second = c * d;
  if (first !== second || first <= Number.MAX_SAFE_INTEGER) return first - second;
  return Number(BigInt(a) * BigInt(b) - BigInt(c) * BigInt(d));
}

function isTighter(next: LimitState, binding: LimitState, allowed: boolean): boolean {
  const difference = allowed
    ? compareProducts(binding.remaining, next.limit, next.remaining, binding.limit)
    : next.retryAfterMs - binding.retryAfterMs;
  // Infinity - Infinity is NaN: both can never pass, which is a tie.
  if (difference !== 0 && !Number.isNaN(difference)) return difference > 0;
  if (next.windowMs !== binding.windowMs) return next.windowMs > binding.windowMs;
  return next.name < binding.name;
}
