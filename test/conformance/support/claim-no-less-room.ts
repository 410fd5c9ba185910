import type { Decision, Limit, LimitState } from "@headgate/core";
import { calendarWindowsOf } from "../oracle/calendar-window.ts";
import { claim } from "./claim.ts";

/** Fails unless the first of two decisions has at least the room of the second in each limit, now and later. */
export function claimNoLessRoom(more: Decision, less: Decision, limits: readonly Limit[]): void {
  const explain = () => JSON.stringify({ limits, more, less });
  // An admitted request reports the units left after its charge, so they compare only if both decisions agree.
  const agree = more.allowed === less.allowed;
  claim(more.allowed || !less.allowed, explain);
  limits.forEach((limit, i) => {
    const [roomy, narrow] = [more.limits[i], less.limits[i]] as [LimitState, LimitState];
    claim(roomy.allowed || !narrow.allowed, explain);
    claim(!agree || roomy.remaining >= narrow.remaining, explain);
    if (startsWithRequest(limit)) return;
    claim(roomy.retryAfterMs <= narrow.retryAfterMs, explain);
    claim(!agree || roomy.resetAfterMs <= narrow.resetAfterMs, explain);
  });
}

/** Whether the window of a limit starts with its first request. Such windows end at different times, which do not compare. */
export function startsWithRequest(limit: Limit): boolean {
  if (limit.algorithm !== "fixedWindow" || calendarWindowsOf(limit) !== undefined) return false;
  return limit.align !== "clock";
}
