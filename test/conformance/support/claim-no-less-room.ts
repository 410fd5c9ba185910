import type { Decision, Limit, LimitState } from "@headgate/core";
import { calendarWindowsOf } from "../oracle/calendar-window.ts";
import { claim } from "./claim.ts";

/** Fails unless the first of two answers to one request has at least the room of the second in each limit, now and later. */
export function claimNoLessRoom(more: Decision, less: Decision, limits: readonly Limit[]): void {
  const explain = () => JSON.stringify({ limits, more, less });
  // What is left is reported after the charge when a request is admitted, so it compares only when both are, or neither.
  const alike = more.allowed === less.allowed;
  claim(more.allowed || !less.allowed, explain);
  limits.forEach((limit, i) => {
    const [roomy, narrow] = [more.limits[i], less.limits[i]] as [LimitState, LimitState];
    claim(roomy.allowed || !narrow.allowed, explain);
    claim(!alike || roomy.remaining >= narrow.remaining, explain);
    if (startsWithRequest(limit)) return;
    claim(roomy.retryAfterMs <= narrow.retryAfterMs, explain);
    claim(!alike || roomy.resetAfterMs <= narrow.resetAfterMs, explain);
  });
}

/** A window that begins with its first request begins, and ends, later where that was not asked: their ends do not compare. */
export function startsWithRequest(limit: Limit): boolean {
  if (limit.algorithm !== "fixedWindow" || calendarWindowsOf(limit) !== undefined) return false;
  return limit.align !== "clock";
}
