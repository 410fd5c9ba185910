import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { NEVER } from "../algorithms/exact-arithmetic.ts";
import type { CounterShape, FieldOffset } from "../scripts/counter-shape.ts";
import { isCounterValue, readNumbers, STAMP_AND_GENERATION } from "../scripts/digits.ts";
import type { Block } from "./block.ts";
import { remainingMicrosOf } from "./block.ts";
import type { Counter, CounterState } from "./counter.ts";
import { costAt, reportLimits } from "./counter.ts";
import { readInteger } from "./list-script.ts";

export type DecideMode = "enforce" | "charge" | "peek" | "inspect";

/** One request to decide. */
export interface DecideCall {
  /** Units. 0 charges nothing and reports the limits unchanged. If the counters have costs, the largest of those. */
  readonly cost: number;
  /**
   * What happens to an allowed request. `"enforce"` and `"charge"` charge it, and with `"enforce"` a denial may block.
   * `"peek"` reports the limits as after a charge, and `"inspect"` reports them unchanged; neither charges.
   */
  readonly mode: DecideMode;
  /** The holder of the slots, if the request is charged to concurrency limits. */
  readonly holder?: string | undefined;
  readonly counters: readonly Counter[];
}

/** Whether an allowed request is charged. */
export function isCharging(mode: DecideMode): boolean {
  return mode === "enforce" || mode === "charge";
}

/**
 * Writes the head of a counter and the waits of its limits into the reply; false if the counter denies. A charged one never
 * does.
 */
export function decideOnCounter(
  reply: number[],
  counter: Counter,
  { generation, block, stamp, limitStates }: CounterState,
  cost: number,
  isCharged = false,
): boolean {
  const remaining = block === undefined ? 0 : remainingMicrosOf(block, stamp);
  let allowed = remaining === 0;
  reply.push(generation, remaining);
  for (let i = 0; i < counter.limits.length; i += 1) {
    const { algorithm, quota } = counter.limits[i] as CompiledLimit;
    const units = isCharged ? 0 : costAt(counter, i, cost);
    // A cost of 0 is never denied, even if usage exceeds the limit.
    const wait = units === 0 ? 0 : algorithm.waitTime(limitStates[i], quota, units);
    if (wait !== 0) allowed = false;
    reply.push(wait, 0, 0, 0);
  }
  return allowed;
}

/** Spends a cost: on the states if it is charged, otherwise on copies of them. Returns the states to report. */
export function spend(
  counter: Counter,
  states: readonly unknown[],
  cost: number,
  charges: boolean,
  holder = "",
): readonly unknown[] {
  const spent = charges ? states : new Array<unknown>(states.length);
  for (let i = 0; i < states.length; i += 1) {
    const { algorithm, quota } = counter.limits[i] as CompiledLimit;
    const units = costAt(counter, i, cost);
    if (!charges) (spent as unknown[])[i] = algorithm.copyState(states[i]);
    if (units === 0) continue;
    if (charges && algorithm.acquireSlots) algorithm.acquireSlots(spent[i], quota, holder, units);
    else algorithm.spend(spent[i], quota, units);
  }
  return spent;
}

/**
 * Writes into the reply that a counter is blocked. A limit's block shows on that limit, even if the cost leaves it out; a
 * manual block shows on all limits of the counter. `at` is the index of the first wait. A cost of 0 reports the limits
 * unchanged.
 */
export function denyByBlock(
  reply: number[],
  at: number,
  { limits, costs }: Counter,
  { setBy }: Block,
  cost: number,
): void {
  const remaining = reply[at - 1] as number;
  const only = setBy === "operator" || costs?.[setBy - 1] === 0 ? undefined : setBy - 1;
  for (let i = 0; i < limits.length; i += 1) {
    if (only !== undefined && only !== i) continue;
    const from = at + 4 * i;
    const wait = reply[from] as number;
    if (wait !== NEVER) reply[from] = Math.max(wait, remaining);
    if (only === undefined && cost === 0) continue;
    reply[from + 1] = Math.min(0, reply[from + 1] as number);
    reply[from + 2] = Math.max(remaining, reply[from + 2] as number);
    reply[from + 3] = Math.max(remaining, reply[from + 3] as number);
  }
}

/** A script's answer to a decision, which is read value by value. */
export interface AnswerCursor {
  readonly values: readonly unknown[];
  /** Whether the request was charged. If so, the values are as of the decision, otherwise as of the last write. */
  readonly isCharged: boolean;
  /** The clock of the decision, in microseconds. */
  readonly now: number;
  /** The index of the next value. */
  next: number;
}

/**
 * Computes the numbers of the reply to a decision from the answer of decide.lua or peek.lua. The answer has the states, which the
 * algorithms read. Undefined for an answer that the scripts never give, such as a denial although every limit allows the
 * request.
 */
export function decodeAnswer(call: DecideCall, raw: unknown): readonly number[] | undefined {
  const { mode, cost, counters } = call;
  const values: readonly unknown[] = Array.isArray(raw) ? raw : [raw];
  const [first] = values;
  const mayCharge = isCharging(mode);
  const isCharged = mayCharge && Buffer.isBuffer(first);
  const now = isCharged
    ? (readNumbers(first, STAMP_AND_GENERATION)[0] as number)
    : readInteger(first);
  if (now === -1 && values.length === 1) return [0, -1];
  const answer: AnswerCursor = { values, isCharged, now, next: isCharged ? 0 : 1 };
  const opened = new Array<CounterState>(counters.length);
  const reply = [now];
  let allowed = true;
  let marks = 0;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const state = decodeCounter(answer, counter);
    if (state === undefined) return undefined;
    opened[u] = state;
    if (isCharged) marks += counter.notifyingLimits.length;
    if (!decideOnCounter(reply, counter, state, cost, isCharged)) allowed = false;
  }
  if (answer.next + marks !== values.length) return undefined;
  if (mayCharge && allowed !== isCharged) return undefined;
  const spends = allowed && mode === "peek" && cost > 0;
  let at = 3;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const { limitStates, block } = opened[u] as CounterState;
    const reported = spends ? spend(counter, limitStates, cost, false) : limitStates;
    reportLimits(reply, at, counter.limits, reported);
    if ((reply[at - 1] as number) > 0) denyByBlock(reply, at, counter, block as Block, cost);
    at += 2 + 4 * counter.limits.length;
  }
  if (marks > 0) addThresholds(reply, answer, counters);
  return reply.every(Number.isSafeInteger) ? reply : undefined;
}

/** Adds the reached thresholds, as described in notify-thresholds.ts, to an otherwise complete reply. */
function addThresholds(reply: number[], answer: AnswerCursor, counters: readonly Counter[]): void {
  let at = 3;
  for (const { limits, notifyingLimits } of counters) {
    for (const i of notifyingLimits) {
      const reached = readInteger(answer.values[answer.next]);
      reply.push(reached, reply[at + 4 * i + 1] as number, reply[at + 4 * i + 2] as number);
      answer.next += 1;
    }
    at += 2 + 4 * limits.length;
  }
}

/** Decodes the next counter of an answer, updated to the time of the answer; undefined if its value has another shape. */
export function decodeCounter(
  answer: AnswerCursor,
  { limits, shape }: Counter,
): CounterState | undefined {
  const { values, isCharged, now } = answer;
  const value = values[answer.next];
  answer.next += 1;
  const bytes =
    value === null && !isCharged ? null : isCounterValue(value, shape) ? value : undefined;
  if (bytes === undefined) return undefined;
  const [stamp = now, generation = 0] =
    bytes === null ? [] : readNumbers(bytes, STAMP_AND_GENERATION);
  const limitStates = new Array<unknown>(limits.length);
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, quota, shape: limit } = limits[i] as CompiledLimit;
    if (limit.reported !== undefined) {
      const end = answer.next + limit.reported.length;
      limitStates[i] = algorithm.readState(
        values.slice(answer.next, end).map(readInteger),
        quota,
        now,
      );
      answer.next = end;
      continue;
    }
    const offsets = shape.offsets[i] as readonly FieldOffset[];
    limitStates[i] =
      bytes === null
        ? algorithm.createState(quota)
        : algorithm.readState(readNumbers(bytes, offsets), quota, stamp);
    if (!isCharged) algorithm.advance(limitStates[i], quota, Math.max(0, now - stamp), now);
  }
  const isBlocked = bytes !== null && bytes.length > shape.width;
  const block = isBlocked ? decodeBlock(bytes, shape, now) : undefined;
  return { stamp: now, generation, expiresAt: now, limitStates, block, thresholdMarks: undefined };
}

/** Decodes the block in a value. If the clock stepped back, the block lasts no longer than before. */
function decodeBlock(value: Buffer, { block }: CounterShape, now: number): Block {
  const [stamp = 0] = readNumbers(value, STAMP_AND_GENERATION);
  const ahead = Math.max(0, stamp - now);
  const [ends = 0, levelEnds = 0, level = 0, setBy = 0] = readNumbers(value, block);
  return {
    endsAt: ends - ahead,
    levelEndsAt: levelEnds - ahead,
    level,
    setBy: setBy || "operator",
  };
}
