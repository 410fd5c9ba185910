import type { Limit } from "../common/policy.ts";
import { MAX_DURATION_MS } from "../common/time.ts";
import type { CompiledLimit } from "./algorithm.ts";
import { readWindow } from "./read-limit.ts";

/** The longer of a limit's window and its time to recover in full, in microseconds; for a calendar window, its longest length. */
export function recoveryTimeOf(limit: Limit, { windowMs, calendar }: CompiledLimit): number {
  const longest = Math.min(windowMs, MAX_DURATION_MS) * 1_000;
  if (calendar !== undefined) return longest;
  return Math.max(longest, readWindow(limit, "every" in limit ? "every" : "window"));
}
