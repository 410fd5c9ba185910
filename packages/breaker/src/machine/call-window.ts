import type { Counts, OutcomeCode, Window } from "./window.ts";

/** Twin of the state in call-window.lua. */
export interface CallWindowState extends Counts {
  stamp: number;
  calls: number;
  failures: number;
  slow: number;
  /** A digit for each outcome, the oldest first. */
  digits: string;
}

/** A day: a window that nothing was added to for so long is forgotten. */
const FORGOTTEN = 86_400_000_000;

/** The last `size` outcomes. Twin of call-window.lua. */
export const callWindow: Window<CallWindowState> = {
  kind: "calls",

  fresh: (now) => ({ stamp: now, calls: 0, failures: 0, slow: 0, digits: "" }),

  advance(state, now) {
    const steppedBack = state.stamp > now;
    if (steppedBack) state.stamp = now;
    else if (now - state.stamp >= FORGOTTEN) Object.assign(state, callWindow.fresh(now, 0));
    return steppedBack;
  },

  add(state, outcomes, now, size) {
    const all = state.digits + outcomes;
    const kept = all.slice(-size);
    const added = count(outcomes);
    const left = count(all.slice(0, all.length - kept.length));
    state.stamp = now;
    state.digits = kept;
    state.calls = kept.length;
    state.failures += added.failures - left.failures;
    state.slow += added.slow - left.slow;
  },

  expiry: () => FORGOTTEN,

  batch(size) {
    let digits = "";
    return {
      get size() {
        return digits.length;
      },
      add(outcome) {
        // Cut rarely: cutting copies what is kept.
        if (digits.length >= 2 * size) digits = digits.slice(-size);
        digits += outcome;
      },
      toString: () => digits.slice(-size),
    };
  },
};

function count(digits: string): { readonly failures: number; readonly slow: number } {
  let [failures, slow] = [0, 0];
  for (const digit of digits) {
    const outcome = Number(digit) as OutcomeCode;
    failures += outcome & 1;
    slow += outcome >> 1;
  }
  return { failures, slow };
}
