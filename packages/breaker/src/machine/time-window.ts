import type { CallCounts, CountedOutcome, OutcomeBatch, Window } from "./breaker-policy.ts";
import { isFailure, isSlow } from "./breaker-policy.ts";

/** Twin of the state in time-window.lua: `counts` holds the calls, failures and slow calls of each sub-window, at position index % SUB_WINDOWS. */
export interface TimeWindowState extends CallCounts {
  newest: number;
  calls: number;
  failures: number;
  slowCalls: number;
  counts: number[];
}

/** An outcome counts for at least 49/50 of the window, and never for longer than the window. */
const SUB_WINDOWS = 50;
const COUNTS_PER_SUB_WINDOW = 3;
const MAX_COUNT = 2 ** 32 - 1;

/** Outcomes so close in time that they count as simultaneous. */
class OutcomeTotals implements OutcomeBatch {
  size = 0;
  failures = 0;
  slowCalls = 0;

  add(outcome: CountedOutcome): void {
    this.size += 1;
    if (isFailure(outcome)) this.failures += 1;
    if (isSlow(outcome)) this.slowCalls += 1;
  }

  toString(): string {
    return `${this.size} ${this.failures} ${this.slowCalls}`;
  }
}

/** Outcomes of the last `length` microseconds, in sub-windows aligned to the epoch. Twin of time-window.lua. */
export const timeWindow: Window<TimeWindowState, OutcomeTotals> = {
  kind: "time",

  createEmpty: (now, length) => ({
    newest: Math.floor(now / (length / SUB_WINDOWS)),
    calls: 0,
    failures: 0,
    slowCalls: 0,
    counts: new Array(SUB_WINDOWS * COUNTS_PER_SUB_WINDOW).fill(0),
  }),

  advance(state, now, length) {
    const newest = Math.floor(now / (length / SUB_WINDOWS));
    const steppedBack = newest < state.newest;
    if (steppedBack) {
      // The clock stepped back: the counts move with it.
      const shift = positionOf(newest - state.newest);
      const kept = state.counts;
      state.counts = [...kept.slice(kept.length - shift), ...kept.slice(0, kept.length - shift)];
      state.newest = newest;
    }
    const { counts } = state;
    for (
      let index = Math.max(state.newest + 1, newest - SUB_WINDOWS + 1);
      index <= newest;
      index += 1
    ) {
      const position = positionOf(index);
      state.calls -= counts[position] as number;
      state.failures -= counts[position + 1] as number;
      state.slowCalls -= counts[position + 2] as number;
      counts.fill(0, position, position + COUNTS_PER_SUB_WINDOW);
    }
    state.newest = newest;
    return steppedBack;
  },

  add(state, { size, failures, slowCalls }) {
    const position = positionOf(state.newest);
    state.calls += addTo(state.counts, position, size);
    state.failures += addTo(state.counts, position + 1, failures);
    state.slowCalls += addTo(state.counts, position + 2, slowCalls);
  },

  retentionMicros: (length) => length,

  createBatch: () => new OutcomeTotals(),
};

/** Adds to a count up to its maximum. Returns the added number. */
function addTo(counts: number[], position: number, more: number): number {
  const before = counts[position] as number;
  const added = Math.min(more, MAX_COUNT - before);
  counts[position] = before + added;
  return added;
}

function positionOf(index: number): number {
  return (((index % SUB_WINDOWS) + SUB_WINDOWS) % SUB_WINDOWS) * COUNTS_PER_SUB_WINDOW;
}
