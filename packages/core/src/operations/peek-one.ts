import type { MemoryTable } from "../store/memory-table.ts";
import type { Operation } from "../store/store.ts";
import { remainingMicrosOf } from "./block.ts";
import type { Counter, CounterState } from "./counter.ts";
import { saveCounter } from "./counter.ts";
import { peek } from "./decide.ts";
import type { DecideCall } from "./decide-call.ts";
import { decodeCounter } from "./decide-call.ts";
import { readInteger } from "./list-script.ts";

/**
 * Reads the block of a call's only counter. After the clock, the reply has the remaining microseconds of the block, and the
 * limit that set it, from 1 in canonical order; 0 for a manual block, or without a block.
 */
export const peekBlock: Operation<DecideCall> = peekOne("peek-block", (_, state, now) => {
  const rest = remainingMicrosOf(state?.block, now);
  const setBy = rest > 0 ? state?.block?.setBy : undefined;
  return [now, rest, setBy === undefined || setBy === "operator" ? 0 : setBy];
});

/**
 * Copies a call's only counter into memory, where other operations can be tried on the copy. The reply is the clock of the
 * copy.
 */
export function copyCounterTo(copies: MemoryTable): Operation<DecideCall> {
  return peekOne("copy-counter", (counter, state, now) => {
    if (state === undefined) return [now];
    const limitStates = counter.limits.map(({ algorithm }, i) =>
      algorithm.copyState(state.limitStates[i]),
    );
    saveCounter(counter, { ...state, limitStates }, copies);
    return [now];
  });
}

/** Defines an operation that reads one counter. `replyFor` receives the stored state; undefined if the counter is absent. */
function peekOne(
  name: string,
  replyFor: (counter: Counter, state: CounterState | undefined, now: number) => readonly number[],
): Operation<DecideCall> {
  function read(counter: Counter, given: unknown): readonly number[] | undefined {
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    const now = readInteger(values[0]);
    if (values.length === 1 && now === -1) return [0, -1];
    if (!Number.isSafeInteger(now)) return undefined;
    if (values[1] === null) return replyFor(counter, undefined, now);
    const state = decodeCounter({ values, isCharged: false, now, next: 1 }, counter);
    return state && replyFor(counter, state, now);
  }
  return {
    ...peek,
    name,
    decode(calls, reply) {
      const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
      return calls.map(({ counters: [counter] }, i) => read(counter as Counter, answers[i]));
    },
    runInMemory({ counters: [counter] }, memory, { now }) {
      const { key } = counter as Counter;
      return replyFor(counter as Counter, memory.get(key) as CounterState | undefined, now);
    },
  };
}
