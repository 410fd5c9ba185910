import type { LimitState } from "@headgate/core";

/**
 * Picks the limit with the longest wait when denied, and with the smallest share left when allowed, where a limit of 0 counts as 1.
 * The longer window breaks a tie, then the name.
 */
export function bindingOf(limits: readonly LimitState[], allowed: boolean): LimitState {
  const [binding] = limits.toSorted(
    (a, b) =>
      (allowed ? compareShares(a, b) : compareWaits(a, b)) ||
      b.windowMs - a.windowMs ||
      (a.name < b.name ? -1 : 1),
  );
  return binding as LimitState;
}

function compareWaits(a: LimitState, b: LimitState): number {
  return a.retryAfterMs === b.retryAfterMs ? 0 : b.retryAfterMs - a.retryAfterMs;
}

function compareShares(a: LimitState, b: LimitState): number {
  const left = BigInt(a.remaining) * BigInt(Math.max(1, b.limit));
  const right = BigInt(b.remaining) * BigInt(Math.max(1, a.limit));
  return left === right ? 0 : left < right ? -1 : 1;
}
