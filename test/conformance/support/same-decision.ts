import type { Cost, Decision } from "@headgate/core";

const SUMMARY = [
  "allowed",
  "limit",
  "remaining",
  "retryAfterMs",
  "resetAfterMs",
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
  "refillAfterMs",
] as const;

/** Whether two decisions are equal in each field. Unlike `toEqual`, it is fast enough for a million comparisons. */
export function isSameDecision(a: Decision, b: Decision): boolean {
  return (
    SUMMARY.every((field) => Object.is(a[field], b[field])) &&
    isSameCost(a.cost, b.cost) &&
    a.limits.length === b.limits.length &&
    a.limits.every((state, i) => {
      const other = b.limits[i] as typeof state;
      return STATE.every((field) => Object.is(state[field], other[field]));
    })
  );
}

/** Whether two costs are equal; the order of names does not matter. */
function isSameCost(a: Cost, b: Cost): boolean {
  if (typeof a === "number" || typeof b === "number") return Object.is(a, b);
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
