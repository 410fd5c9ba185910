import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { blockNumbersIn, generationIn, isValue, stampIn, stateIn } from "../scripts/read-value.ts";
import type { Block } from "./block.ts";
import { restOf } from "./block.ts";
import type { Counter } from "./counter.ts";
import { unitsAt } from "./counter.ts";
import type { DecideCall } from "./decide-call.ts";
import { isCharging } from "./decide-call.ts";
import { denyByBlock } from "./deny-by-block.ts";
import { readInteger } from "./list-script.ts";

/** A script's reply to a decision. */
export interface Answer {
  readonly values: readonly unknown[];
  /** Whether it was charged: the values are of the moment of the decision then, and of an earlier one otherwise. */
  readonly isCharged: boolean;
  /** The clock of the decision, in microseconds. */
  readonly now: number;
  /** Where the value is that comes next. */
  next: number;
}

/**
 * The reply to a decision from what decide.lua or look.lua answered, which is states: the numbers are told by the algorithms'
 * twins. Undefined for what the scripts never answer, also a denial by limits that would all allow.
 */
export function readDecision(call: DecideCall, given: unknown): readonly number[] | undefined {
  const values: readonly unknown[] = Array.isArray(given) ? given : [given];
  const [first] = values;
  const { mode, cost, counters } = call;
  const isCharged = isCharging(mode) && Buffer.isBuffer(first);
  if (!isCharged && values.length === 1 && readInteger(first) === -1) return [0, -1];
  const now = isCharged ? stampIn(first) : readInteger(first);
  const answer: Answer = { values, isCharged, now, next: isCharged ? 0 : 1 };
  const reply = [now];
  const states: unknown[] = [];
  let blocked: BlockedCounter[] | undefined;
  let isAllowed = true;
  for (const counter of counters) {
    const bytes = takeValue(answer, counter);
    if (bytes === undefined) return undefined;
    const block = bytes === null ? undefined : blockIn(bytes, counter, now);
    const rest = restOf(block, now);
    reply.push(bytes === null ? 0 : generationIn(bytes), rest);
    if (block !== undefined && rest > 0) {
      isAllowed = false;
      blocked ??= [];
      blocked.push({ counter, block, rest, at: reply.length });
    }
    for (let i = 0; i < counter.limits.length; i += 1) {
      const { algorithm, quota } = counter.limits[i] as CompiledLimit;
      const state = takeState(answer, counter, i, bytes);
      const units = unitsAt(counter, i, cost);
      const wait = isCharged || units === 0 ? 0 : algorithm.wait(state, quota, units);
      isAllowed &&= wait === 0;
      states.push(state);
      reply.push(wait, 0, 0, 0);
    }
  }
  if (answer.next !== values.length) return undefined;
  if (isCharging(mode) && isAllowed !== isCharged) return undefined;
  report(call, states, isAllowed && mode === "peek" && cost > 0, reply);
  for (const { counter, block, rest, at } of blocked ?? []) {
    denyByBlock(reply, at, counter, block, rest, cost);
  }
  return reply.every(Number.isSafeInteger) ? reply : undefined;
}

/** A counter that is blocked. */
interface BlockedCounter {
  readonly counter: Counter;
  readonly block: Block;
  readonly rest: number;
  /** Where the numbers of its limits are in the reply. */
  readonly at: number;
}

/** The block of a counter at a moment; if the clock stepped back, nobody waits longer than before. */
export function blockIn(bytes: Buffer, { shape }: Counter, now: number): Block | undefined {
  const numbers = blockNumbersIn(bytes, shape);
  if (numbers === undefined) return undefined;
  const ahead = Math.max(0, stampIn(bytes) - now);
  const [ends, levelEnds, level, setBy] = numbers as [number, number, number, number];
  return { ends: ends - ahead, levelEnds: levelEnds - ahead, level, setBy };
}

/** The value of a counter, null when it is absent; undefined when the answer has another one. */
function takeValue(answer: Answer, { shape }: Counter): Buffer | null | undefined {
  const value = answer.values[answer.next];
  answer.next += 1;
  if (value === null) return answer.isCharged ? undefined : null;
  return isValue(value, shape) ? value : undefined;
}

/** The state of a limit in this place of its counter, brought to the present. */
export function takeState(
  answer: Answer,
  counter: Counter,
  i: number,
  bytes: Buffer | null,
): unknown {
  const limit = counter.limits[i] as CompiledLimit;
  const { algorithm, quota, shape } = limit;
  if (shape.reported !== undefined) {
    const reported = answer.values.slice(answer.next, answer.next + shape.reported.length);
    answer.next += reported.length;
    return algorithm.read(reported.map(readInteger), quota, answer.now);
  }
  const state = bytes === null ? algorithm.fresh(quota) : stateIn(bytes, counter.shape, i, limit);
  if (!answer.isCharged) {
    const elapsed = bytes === null ? 0 : Math.max(0, answer.now - stampIn(bytes));
    algorithm.advance(state, quota, elapsed, answer.now);
  }
  return state;
}

/** Puts into the reply how the limits are, or how they will be when the call is charged. */
function report(
  { counters, cost }: DecideCall,
  states: readonly unknown[],
  spends: boolean,
  reply: number[],
): void {
  let limitAt = 0;
  let at = 1;
  for (const counter of counters) {
    const { limits } = counter;
    at += 2;
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, quota } = limits[i] as CompiledLimit;
      const state = states[limitAt];
      const units = unitsAt(counter, i, cost);
      if (spends && units > 0) algorithm.spend(state, quota, units);
      const { remaining, reset, growth } = algorithm.report(state, quota);
      reply[at + 1] = remaining;
      reply[at + 2] = reset;
      reply[at + 3] = growth;
      limitAt += 1;
      at += 4;
    }
  }
}
