import type { MemoryTable } from "../store/memory-table.ts";
import type { Operation } from "../store/store.ts";
import type { BlockSource } from "./block.ts";
import { remainingMicrosOf } from "./block.ts";
import type { Counter } from "./counter.ts";
import { readCounter, saveCounter } from "./counter.ts";
import type { CounterState } from "./counter-state.ts";
import { peek } from "./decide.ts";
import type { DecideCall } from "./decide-call.ts";
import { decodeCounter } from "./decode-decision.ts";
import { readInteger, wrongTypeError } from "./list-script.ts";

/** The block of a counter that is in force. */
export interface BlockReport {
  /** Microseconds until it ends; 0 if there is none. */
  readonly remaining: number;
  readonly setBy: BlockSource;
}

/** Reads the block of a call's only counter. */
export const peekBlock: Operation<DecideCall, BlockReport> = peekOne(
  "peek-block",
  (_, state, now) => ({
    remaining: remainingMicrosOf(state?.block, now),
    setBy: state?.block?.setBy ?? "operator",
  }),
);

/**
 * Copies a call's only counter into memory, where other operations can be tried on the copy. Replies with the clock of the copy, in
 * microseconds.
 */
export function copyCounterTo(copies: MemoryTable): Operation<DecideCall, number> {
  return peekOne("copy-counter", (counter, state, now) => {
    if (state === undefined) return now;
    const limitStates = counter.limits.map(({ algorithm }, i) =>
      algorithm.copyState(state.limitStates[i]),
    );
    saveCounter(counter, { ...state, limitStates }, copies);
    return now;
  });
}

/** Defines an operation that reads one counter. `replyFor` receives the stored state; undefined if the counter is absent. */
function peekOne<Reply>(
  name: string,
  replyFor: (counter: Counter, state: CounterState | undefined, now: number) => Reply,
): Operation<DecideCall, Reply> {
  function read(counter: Counter, reply: unknown): Reply | Error | undefined {
    const values: readonly unknown[] = Array.isArray(reply) ? reply : [reply];
    const now = readInteger(values[0]);
    if (values.length === 1 && now === -1) return wrongTypeError([counter]);
    if (!Number.isSafeInteger(now)) return undefined;
    if (values[1] === null) return replyFor(counter, undefined, now);
    const state = decodeCounter({ values, isCharged: false, now, next: 1 }, counter);
    return state && replyFor(counter, state, now);
  }
  return {
    ...peek,
    name,
    decode(calls, reply) {
      const replies: readonly unknown[] = Array.isArray(reply) ? reply : [];
      return calls.map(({ counters: [counter] }, i) => read(counter as Counter, replies[i]));
    },
    runInMemory({ counters: [counter] }, memory, { now }) {
      return replyFor(counter as Counter, readCounter(counter as Counter, memory), now);
    },
  };
}
