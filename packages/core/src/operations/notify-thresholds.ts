import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Counter } from "./counter.ts";
import { costAt } from "./counter.ts";
import type { CounterState } from "./counter-state.ts";

/** What a charge reports on a limit that notifies. Twin of thresholds.lua. */
export interface ThresholdReport {
  readonly counter: Counter;
  /** The index of the limit in the counter. */
  readonly limit: number;
  /** The number of thresholds to report: the highest ones that were reached. */
  readonly reached: number;
  /** Units; negative if usage exceeds the limit. */
  readonly remaining: number;
  /** Microseconds until the limit has fully recovered. */
  readonly resetAfter: number;
}

/** Adds the reports on a counter that was charged `cost`, and stores the reported thresholds in its state. */
export function notifyThresholds(
  reports: ThresholdReport[],
  counter: Counter,
  state: CounterState,
  cost: number,
): void {
  for (const i of counter.notifyingLimits) {
    const { algorithm, quota } = counter.limits[i] as CompiledLimit;
    const { remaining, resetAfter } = algorithm.report(state.limitStates[i], quota);
    const reached = costAt(counter, i, cost) > 0 ? crossThreshold(counter, state, i, remaining) : 0;
    reports.push({ counter, limit: i, reached, remaining, resetAfter });
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
