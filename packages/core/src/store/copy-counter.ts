import type { Counter, OpenCounter } from "./counter.ts";
import { keepCounter } from "./counter.ts";
import { look } from "./decide.ts";
import type { DecideCall } from "./decide-call.ts";
import { takeCounter } from "./decision-reply.ts";
import { readInteger } from "./list-script.ts";
import type { MemoryTable } from "./memory-table.ts";
import type { Step } from "./store.ts";

/**
 * Copies the one counter of a call, as it is now, into memory, where the twins of other steps can act on it; the original stays as it
 * is. The reply is the clock of the copy.
 */
export function copyTo(copies: MemoryTable): Step<DecideCall> {
  return {
    ...look,
    name: "copy-counter",
    read(calls, reply) {
      const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
      return calls.map(({ counters: [counter] }, i) =>
        copyAnswer(counter as Counter, answers[i], copies),
      );
    },
    twin({ counters }, memory, { now }) {
      const counter = counters[0] as Counter;
      const open = memory.get(counter.key) as OpenCounter | undefined;
      if (open === undefined) return [now];
      const states = counter.limits.map(({ algorithm }, i) => algorithm.copy(open.states[i]));
      keepCounter(counter, { ...open, states }, copies);
      return [now];
    },
  };
}

function copyAnswer(
  counter: Counter,
  given: unknown,
  copies: MemoryTable,
): readonly number[] | undefined {
  const values: readonly unknown[] = Array.isArray(given) ? given : [given];
  const [first, value] = values;
  const now = readInteger(first);
  if (values.length === 1 && now === -1) return [0, -1];
  if (!Number.isSafeInteger(now)) return undefined;
  if (value === null) return [now];
  const open = takeCounter({ values, isCharged: false, now, next: 1 }, counter);
  if (open === undefined) return undefined;
  keepCounter(counter, open, copies);
  return [now];
}
