import type { Counts, Window } from "./window.ts";

/** Twin of the state in time-window.lua: `counts` holds the three numbers of each sub-window, number n at place n % SUB_WINDOWS. */
export interface TimeWindowState extends Counts {
  newest: number;
  calls: number;
  failures: number;
  slow: number;
  counts: number[];
}

/** An outcome counts for at least 49/50 of the window, and never for longer than the window. */
export const SUB_WINDOWS = 50;
const WIDTH = 3;
const MOST = 2 ** 32 - 1;

/** Outcomes of the last `length` microseconds, in sub-windows aligned to the epoch. Twin of time-window.lua. */
export const timeWindow: Window<TimeWindowState> = {
  kind: "time",

  fresh: (now, length) => ({
    newest: Math.floor(now / (length / SUB_WINDOWS)),
    calls: 0,
    failures: 0,
    slow: 0,
    counts: new Array(SUB_WINDOWS * WIDTH).fill(0),
  }),

  advance(state, now, length) {
    const newest = Math.floor(now / (length / SUB_WINDOWS));
    const steppedBack = newest < state.newest;
    if (steppedBack) {
      // The clock stepped back: what was counted is taken as of now.
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
      state.slow -= counts[position + 2] as number;
      counts.fill(0, position, position + WIDTH);
    }
    state.newest = newest;
    return steppedBack;
  },

  add(state, outcomes) {
    const position = positionOf(state.newest);
    const [calls = 0, failures = 0, slow = 0] = outcomes
      .split(" ")
      .map((count, i) => Math.min(Number(count), MOST - (state.counts[position + i] as number)));
    (state.counts[position] as number) += calls;
    (state.counts[position + 1] as number) += failures;
    (state.counts[position + 2] as number) += slow;
    state.calls += calls;
    state.failures += failures;
    state.slow += slow;
  },

  expiry: (length) => length,

  batch() {
    let [calls, failures, slow] = [0, 0, 0];
    return {
      get size() {
        return calls;
      },
      add(outcome) {
        calls += 1;
        failures += outcome & 1;
        slow += outcome >> 1;
      },
      toString: () => `${calls} ${failures} ${slow}`,
    };
  },
};

function positionOf(index: number): number {
  return (((index % SUB_WINDOWS) + SUB_WINDOWS) % SUB_WINDOWS) * WIDTH;
}
