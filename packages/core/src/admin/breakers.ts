/** The states into which an operator can order a breaker. */
export type BreakerOrderState = "closed" | "forced-open" | "disabled" | "metrics-only";

/** Closing forgets all calls. */
const NO_CALLS = {
  ...{ calls: 0, successes: 0, failures: 0, slowCalls: 0 },
  ...{ successRate: null, slowCallRate: null },
} as const;

/**
 * Returns the snapshot that a target will have after an operator's order. `before` is the snapshot that `snapshot()` of its
 * breaker returns now, and `state` is the ordered state. Use it for a preview, and for the log, whose entry is written before
 * the order. `retryAfterMs` and `openings` are 0 after every order.
 */
export function previewOrder<Before extends object>(
  before: Before,
  state: BreakerOrderState,
): Before {
  const calls = state === "closed" ? NO_CALLS : {};
  return { ...before, ...calls, state, openings: 0, retryAfterMs: 0 };
}

/**
 * Returns the registry's options in the form that `createBreaker` takes. For a function `openFor` the registry lists the times
 * that it returned; they become a function again.
 */
export function breakerOptionsOf(
  listed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { openFor } = listed;
  if (!Array.isArray(openFor)) return listed;
  return {
    ...listed,
    openFor: (opened: number): unknown => openFor[Math.min(opened, openFor.length) - 1],
  };
}
