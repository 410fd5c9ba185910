import type { StoreDecision } from "../../../packages/core/src/operations/decide-call.ts";

/** All that a store decided, as a text to compare, except the generations, which are random. */
export function decisionText({ now, allowed, counters, thresholds }: StoreDecision): string {
  return JSON.stringify({
    now,
    allowed,
    counters: counters.map(({ counter, blockedFor, limits }) => [counter.key, blockedFor, limits]),
    thresholds: thresholds.map(({ counter, ...report }) => ({ key: counter.key, ...report })),
  });
}
