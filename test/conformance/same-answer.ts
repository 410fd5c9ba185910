import type { Decision } from "@headgate/core";

const SUMMARY = [
  "allowed",
  "limit",
  "remaining",
  "retryAfterMs",
  "resetAfterMs",
  "cost",
  "source",
  "degraded",
  "blocked",
  "overridden",
  "shadow",
  "wouldAllow",
] as const;

const STATE = [
  "name",
  "per",
  "limit",
  "windowMs",
  "allowed",
  "remaining",
  "overdrawn",
  "retryAfterMs",
  "resetAfterMs",
  "growsAfterMs",
] as const;

/** Whether two decisions say the same in every field: `toEqual`, at the speed that a million comparisons need. */
export function isSameAnswer(a: Decision, b: Decision): boolean {
  return (
    SUMMARY.every((field) => Object.is(a[field], b[field])) &&
    a.limits.length === b.limits.length &&
    a.limits.every((state, i) => {
      const other = b.limits[i] as typeof state;
      return STATE.every((field) => Object.is(state[field], other[field]));
    })
  );
}
