import type { CallCounts, CountedOutcome, OutcomeBatch, Window } from "./breaker-policy.ts";
import { isFailure, isSlow } from "./breaker-policy.ts";
import { DAY_MICROS } from "./period.ts";
import { decodeOutcome, encodeOutcome } from "./wire.ts";

/** Twin of the state in call-window.lua. */
export interface CallWindowState extends CallCounts {
  lastAddedAt: number;
  calls: number;
  failures: number;
  slowCalls: number;
  /** A digit for each outcome, the oldest first. */
  digits: string;
}

/** Outcomes one after the other, no more than a window holds. */
class OutcomeSequence implements OutcomeBatch {
  readonly #maxSize: number;
  #digits = "";

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get size(): number {
    return this.#digits.length;
  }

  get digits(): string {
    return this.#digits.slice(-this.#maxSize);
  }

  add(outcome: CountedOutcome): void {
    // Cut rarely, because cutting copies the rest.
    if (this.#digits.length >= 2 * this.#maxSize) this.#digits = this.digits;
    this.#digits += encodeOutcome(outcome);
  }

  toString(): string {
    return this.digits;
  }
}

/** The last `size` outcomes. Twin of call-window.lua. */
export const callWindow: Window<CallWindowState, OutcomeSequence> = {
  kind: "calls",

  createEmpty: (now) => ({ lastAddedAt: now, calls: 0, failures: 0, slowCalls: 0, digits: "" }),

  advance(state, now) {
    const steppedBack = state.lastAddedAt > now;
    if (steppedBack) state.lastAddedAt = now;
    else if (now - state.lastAddedAt >= DAY_MICROS)
      Object.assign(state, callWindow.createEmpty(now, 0));
    return steppedBack;
  },

  add(state, { digits }, now, size) {
    const all = state.digits + digits;
    const kept = all.slice(-size);
    const added = countDigits(digits);
    const removed = countDigits(all.slice(0, all.length - kept.length));
    state.lastAddedAt = now;
    state.digits = kept;
    state.calls = kept.length;
    state.failures += added.failures - removed.failures;
    state.slowCalls += added.slowCalls - removed.slowCalls;
  },

  // A window without new outcomes for a day is forgotten.
  retentionMicros: () => DAY_MICROS,

  createBatch: (size) => new OutcomeSequence(size),
};

function countDigits(digits: string): { readonly failures: number; readonly slowCalls: number } {
  let [failures, slowCalls] = [0, 0];
  for (const digit of digits) {
    const outcome = decodeOutcome(Number(digit));
    if (isFailure(outcome)) failures += 1;
    if (isSlow(outcome)) slowCalls += 1;
  }
  return { failures, slowCalls };
}
