import type { MemoryTable } from "../store/memory-table.ts";
import type { Operation } from "../store/store.ts";
import { restOf } from "./block.ts";
import type { Counter, OpenCounter } from "./counter.ts";
import { keepCounter } from "./counter.ts";
import { look } from "./decide.ts";
import type { DecideCall } from "./decide-call.ts";
import { takeCounter } from "./decide-call.ts";
import { readInteger } from "./list-script.ts";

/**
 * Looks at the block of a call's only counter, without changing it. After the clock the reply has the microseconds for which it
 * is blocked, and the limit that set the block, from 1 in canonical order; 0 for a block by hand, or none.
 */
export const lookBlock: Operation<DecideCall> = lookAtOne("look-block", (_, open, now) => {
  const rest = restOf(open?.block, now);
  return [now, rest, rest > 0 ? (open?.block?.setBy ?? 0) : 0];
});

/**
 * Copies a call's only counter into memory, for the twins of other steps to act on; the original stays unchanged. The reply is
 * the clock of the copy.
 */
export function copyTo(copies: MemoryTable): Operation<DecideCall> {
  return lookAtOne("copy-counter", (counter, open, now) => {
    if (open === undefined) return [now];
    const states = counter.limits.map(({ algorithm }, i) => algorithm.copy(open.states[i]));
    keepCounter(counter, { ...open, states }, copies);
    return [now];
  });
}

/** A step that looks at one counter. `replyFor` receives it as stored; undefined if it is absent. */
function lookAtOne(
  name: string,
  replyFor: (counter: Counter, open: OpenCounter | undefined, now: number) => readonly number[],
): Operation<DecideCall> {
  function read(counter: Counter, given: unknown): readonly number[] | undefined {
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    const now = readInteger(values[0]);
    if (values.length === 1 && now === -1) return [0, -1];
    if (!Number.isSafeInteger(now)) return undefined;
    if (values[1] === null) return replyFor(counter, undefined, now);
    const open = takeCounter({ values, isCharged: false, now, next: 1 }, counter);
    return open && replyFor(counter, open, now);
  }
  return {
    ...look,
    name,
    read(calls, reply) {
      const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
      return calls.map(({ counters: [counter] }, i) => read(counter as Counter, answers[i]));
    },
    twin({ counters: [counter] }, memory, { now }) {
      const { key } = counter as Counter;
      return replyFor(counter as Counter, memory.get(key) as OpenCounter | undefined, now);
    },
  };
}
