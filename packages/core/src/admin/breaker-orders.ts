/** The states into which an operator can order a breaker. */
export type BreakerOrderState = "closed" | "forced-open" | "disabled" | "metrics-only";

/** Closing forgets all calls. */
const NO_CALLS = {
  ...{ calls: 0, successes: 0, failures: 0, slowCalls: 0 },
  ...{ successRate: null, slowCallRate: null },
} as const;

/**
 * A target's snapshot, as `snapshot()` of its breaker returns it, after an order that leads to a state: for a preview, and for
 * the log, whose entry comes before the order. Every order ends a period of waiting, and a row of openings.
 */
export function previewOrder<Before extends object>(
  before: Before,
  state: BreakerOrderState,
): Before {
  const calls = state === "closed" ? NO_CALLS : {};
  return { ...before, ...calls, state, openings: 0, retryAfterMs: 0 };
}
