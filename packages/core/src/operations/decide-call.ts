import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { NEVER } from "../algorithms/exact.ts";
import type { CounterShape, FieldOffset } from "../scripts/counter-shape.ts";
import { isValue, numbersIn, STAMP_AND_GENERATION } from "../scripts/digits.ts";
import type { Block } from "./block.ts";
import { restOf } from "./block.ts";
import type { Counter, OpenCounter } from "./counter.ts";
import { reportLimits, unitsAt } from "./counter.ts";
import { readInteger } from "./list-script.ts";

export type DecideMode = "enforce" | "charge" | "peek" | "ask";

/** One request to decide. */
export interface DecideCall {
  /** Units; 0 only looks, and reports the limits unchanged. If the counters have costs, the largest of those. */
  readonly cost: number;
  /**
   * The effect of an allowed request. With `"enforce"` and `"charge"` it is charged, and with `"enforce"` a denial may block.
   * With `"peek"` it is reported as if it had been charged, and with `"ask"` the limits are reported unchanged; neither
   * charges.
   */
  readonly mode: DecideMode;
  /** The holder of the slots, if there are concurrency counters and the request is charged. */
  readonly holder?: string | undefined;
  readonly counters: readonly Counter[];
}

/** Whether an allowed request is charged. */
export function isCharging(mode: DecideMode): boolean {
  return mode === "enforce" || mode === "charge";
}

/** Checks the limits of a counter, unless it was charged: writes its head and their waits into the reply. False if it denies. */
export function decideOnCounter(
  reply: number[],
  counter: Counter,
  { generation, block, stamp, states }: OpenCounter,
  cost: number,
  isCharged = false,
): boolean {
  const rest = block === undefined ? 0 : restOf(block, stamp);
  let allowed = rest === 0;
  reply.push(generation, rest);
  for (let i = 0; i < counter.limits.length; i += 1) {
    const { algorithm, quota } = counter.limits[i] as CompiledLimit;
    const units = isCharged ? 0 : unitsAt(counter, i, cost);
    // A look is never denied, even if usage exceeds the limit.
    const wait = units === 0 ? 0 : algorithm.wait(states[i], quota, units);
    if (wait !== 0) allowed = false;
    reply.push(wait, 0, 0, 0);
  }
  return allowed;
}

/** Spends a cost, on copies of the states unless it is charged. Returns the states to report. */
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
    const units = unitsAt(counter, i, cost);
    if (!charges) (spent as unknown[])[i] = algorithm.copy(states[i]);
    if (units === 0) continue;
    if (charges && algorithm.hold) algorithm.hold(spent[i], quota, holder, units);
    else algorithm.spend(spent[i], quota, units);
  }
  return spent;
}

/**
 * Writes into the reply that a counter is blocked: by the limit that set the block, even if the cost leaves that limit out, or
 * by all limits of the counter if the block was set by hand. `at` is the index of the first wait. A look with a cost of 0 sees
 * the limits unchanged.
 */
export function denyByBlock(
  reply: number[],
  at: number,
  { limits, costs }: Counter,
  { setBy: by }: Block,
  cost: number,
): void {
  const rest = reply[at - 1] as number;
  const setBy = costs?.[by - 1] === 0 ? 0 : by;
  for (let i = 0; i < limits.length; i += 1) {
    if (setBy > 0 && setBy !== i + 1) continue;
    const from = at + 4 * i;
    const wait = reply[from] as number;
    if (wait !== NEVER) reply[from] = Math.max(wait, rest);
    if (setBy === 0 && cost === 0) continue;
    reply[from + 1] = Math.min(0, reply[from + 1] as number);
    reply[from + 2] = Math.max(rest, reply[from + 2] as number);
    reply[from + 3] = Math.max(rest, reply[from + 3] as number);
  }
}

/** A script's answer to a decision. */
export interface Answer {
  readonly values: readonly unknown[];
  /** Whether it was charged: the values are then from the moment of the decision, otherwise from an earlier one. */
  readonly isCharged: boolean;
  /** The clock of the decision, in microseconds. */
  readonly now: number;
  /** The index of the next value. */
  next: number;
}

/**
 * The reply to a decision, from the answer of decide.lua or look.lua. The answer has states; the algorithms' twins compute the
 * numbers. Undefined for an answer that the scripts never give, including a denial by limits that would all allow.
 */
export function readDecision(call: DecideCall, given: unknown): readonly number[] | undefined {
  const { mode, cost, counters } = call;
  const values: readonly unknown[] = Array.isArray(given) ? given : [given];
  const [first] = values;
  const mayCharge = isCharging(mode);
  const isCharged = mayCharge && Buffer.isBuffer(first);
  const now = isCharged
    ? (numbersIn(first, STAMP_AND_GENERATION)[0] as number)
    : readInteger(first);
  if (now === -1 && values.length === 1) return [0, -1];
  const answer: Answer = { values, isCharged, now, next: isCharged ? 0 : 1 };
  const opened = new Array<OpenCounter>(counters.length);
  const reply = [now];
  let allowed = true;
  let marks = 0;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const open = takeCounter(answer, counter);
    if (open === undefined) return undefined;
    opened[u] = open;
    if (isCharged) marks += counter.thresholdMarks.length;
    if (!decideOnCounter(reply, counter, open, cost, isCharged)) allowed = false;
  }
  if (answer.next + marks !== values.length) return undefined;
  if (mayCharge && allowed !== isCharged) return undefined;
  const spends = allowed && mode === "peek" && cost > 0;
  let at = 3;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const { states, block } = opened[u] as OpenCounter;
    const reported = spends ? spend(counter, states, cost, false) : states;
    reportLimits(reply, at, counter.limits, reported);
    if ((reply[at - 1] as number) > 0) denyByBlock(reply, at, counter, block as Block, cost);
    at += 2 + 4 * counter.limits.length;
  }
  if (marks > 0) addThresholds(reply, answer, counters);
  return reply.every(Number.isSafeInteger) ? reply : undefined;
}

/** Adds what a charge told, as operations/notify-thresholds.ts says, to a reply that is complete but for that. */
function addThresholds(reply: number[], answer: Answer, counters: readonly Counter[]): void {
  let at = 3;
  for (const { limits, thresholdMarks } of counters) {
    for (const i of thresholdMarks) {
      const reached = readInteger(answer.values[answer.next]);
      reply.push(reached, reply[at + 4 * i + 1] as number, reply[at + 4 * i + 2] as number);
      answer.next += 1;
    }
    at += 2 + 4 * limits.length;
  }
}

/** The next counter of an answer, brought to the present; undefined if it is not one of the shape. */
export function takeCounter(answer: Answer, { limits, shape }: Counter): OpenCounter | undefined {
  const { values, isCharged, now } = answer;
  const value = values[answer.next];
  answer.next += 1;
  const bytes = value === null && !isCharged ? null : isValue(value, shape) ? value : undefined;
  if (bytes === undefined) return undefined;
  const [stamp = now, generation = 0] =
    bytes === null ? [] : numbersIn(bytes, STAMP_AND_GENERATION);
  const states = new Array<unknown>(limits.length);
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, quota, shape: limit } = limits[i] as CompiledLimit;
    if (limit.reported !== undefined) {
      const end = answer.next + limit.reported.length;
      states[i] = algorithm.read(values.slice(answer.next, end).map(readInteger), quota, now);
      answer.next = end;
      continue;
    }
    const places = shape.offsets[i] as readonly FieldOffset[];
    states[i] =
      bytes === null
        ? algorithm.fresh(quota)
        : algorithm.read(numbersIn(bytes, places), quota, stamp);
    if (!isCharged) algorithm.advance(states[i], quota, Math.max(0, now - stamp), now);
  }
  const isBlocked = bytes !== null && bytes.length > shape.width;
  const block = isBlocked ? blockIn(bytes, shape, now) : undefined;
  return { stamp: now, generation, expires: now, states, block, marks: undefined };
}

/** The block of a counter at a moment; if the clock stepped back, it lasts no longer than before. */
function blockIn(value: Buffer, { block }: CounterShape, now: number): Block {
  const [stamp = 0] = numbersIn(value, STAMP_AND_GENERATION);
  const ahead = Math.max(0, stamp - now);
  const [ends = 0, levelEnds = 0, level = 0, setBy = 0] = numbersIn(value, block);
  return { ends: ends - ahead, levelEnds: levelEnds - ahead, level, setBy };
}
