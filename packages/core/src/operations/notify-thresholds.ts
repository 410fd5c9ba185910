import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Counter, CounterState } from "./counter.ts";

/*
 * How a charge reports the thresholds that it reaches. Twin of thresholds.lua.
 *
 * The report is the end of the reply. For each limit that notifies, it has the number of thresholds that this charge reports,
 * which are the highest ones reached; the remaining units, negative if usage exceeds the limit; and the microseconds until it
 * has fully recovered.
 */

/** The numbers of each limit in the report. */
export const THRESHOLD_REPORT_SIZE = 3;

/**
 * Adds the report on a counter to a reply, and stores the reported thresholds. `unitsOf` returns the units charged to a
 * limit.
 */
export function notifyThresholds(
  reply: number[],
  counter: Counter,
  state: CounterState,
  unitsOf: (i: number) => number,
): void {
  for (const i of counter.notifyingLimits) {
    const { algorithm, quota } = counter.limits[i] as CompiledLimit;
    const { remaining, resetAfter } = algorithm.report(state.limitStates[i], quota);
    reply.push(
      unitsOf(i) > 0 ? crossThreshold(counter, state, i, remaining) : 0,
      remaining,
      resetAfter,
    );
  }
}

/** Updates the threshold mark of a limit. Returns how many thresholds to report now. */
function crossThreshold(
  { limits }: Counter,
  state: CounterState,
  i: number,
  remaining: number,
): number {
  const { algorithm, quota, limit, notify } = limits[i] as CompiledLimit;
  const { stamp: now, limitStates } = state;
  const used = limit - remaining;
  const [lowest = Number.POSITIVE_INFINITY] = notify?.units ?? [];
  if (used < lowest) return 0;
  const known = state.thresholdMarks?.[i];
  const mark = known !== undefined && known.endsAt > now ? known : { units: 0, endsAt: 0 };
  const reached = (notify?.units ?? []).filter((units) => units > mark.units && units <= used);
  const endsAt =
    now + (algorithm.windowLeft?.(limitStates[i], quota) ?? (notify?.repeatAfter as number));
  // If the clock stepped back, or the window is shorter now, the mark lasts no longer than a new one.
  if (reached.length > 0 || mark.endsAt > endsAt) {
    state.thresholdMarks ??= [];
    state.thresholdMarks[i] = { units: reached.at(-1) ?? mark.units, endsAt };
  }
  return reached.length;
}
