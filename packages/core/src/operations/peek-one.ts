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
 * Looks at the block of a call's only counter, without changing it. After the clock the reply has the microseconds for which it
 * is blocked, and the limit that set the block, from 1 in canonical order; 0 for a block by hand, or none.
 */
export const peekBlock: Operation<DecideCall> = peekOne("peek-block", (_, state, now) => {
  const rest = remainingMicrosOf(state?.block, now);
  return [now, rest, rest > 0 ? (state?.block?.setBy ?? 0) : 0];
});

/**
 * Copies a call's only counter into memory, for the twins of other steps to act on; the original stays unchanged. The reply is
 * the clock of the copy.
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

/** A step that looks at one counter. `replyFor` receives it as stored; undefined if it is absent. */
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
