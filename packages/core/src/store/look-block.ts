import { isValue } from "../scripts/read-value.ts";
import type { Block } from "./block.ts";
import { restOf } from "./block.ts";
import type { Counter } from "./counter.ts";
import { openCounter } from "./counter.ts";
import { look } from "./decide.ts";
import type { DecideCall } from "./decide-call.ts";
import { blockIn } from "./decision-reply.ts";
import { readInteger } from "./list-script.ts";
import type { Step } from "./store.ts";

/**
 * Looks at the block of one counter, the first of a call, and changes nothing. After the clock the reply has the microseconds for
 * which it is blocked, and which limit has set the block, from 1 in canonical order; 0 for one by hand, or none.
 */
export const lookBlock: Step<DecideCall> = {
  ...look,
  name: "look-block",
  read(calls, reply) {
    const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
    return calls.map(({ counters }, i) => readBlock(counters[0] as Counter, answers[i]));
  },
  twin({ counters }, memory, moment) {
    const { block } = openCounter(counters[0] as Counter, memory, moment);
    return [moment.now, ...numbersOf(block, moment.now)];
  },
};

function readBlock(counter: Counter, answer: unknown): readonly number[] | undefined {
  const [first, value]: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  const now = readInteger(first);
  if (now === -1) return [0, -1];
  if (value === null) return [now, ...numbersOf(undefined, now)];
  return isValue(value, counter.shape)
    ? [now, ...numbersOf(blockIn(value, counter.shape, now), now)]
    : undefined;
}

function numbersOf(block: Block | undefined, now: number): readonly number[] {
  const rest = restOf(block, now);
  return [rest, rest > 0 && block !== undefined ? block.setBy : 0];
}
