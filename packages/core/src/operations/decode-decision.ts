import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { CounterShape, FieldOffset } from "../scripts/counter-shape.ts";
import { isCounterValue, readNumbers, STAMP_AND_GENERATION } from "../scripts/digits.ts";
import type { Block } from "./block.ts";
import type { Counter } from "./counter.ts";
import type { CounterState } from "./counter-state.ts";
import type { CounterDecision, DecideCall, LimitDecision, StoreDecision } from "./decide-call.ts";
import {
  decideCounter,
  grantedUnits,
  isAllowing,
  isBlocked,
  isCharging,
  spend,
} from "./decide-call.ts";
import { readInteger, wrongTypeError } from "./list-script.ts";
import type { ThresholdReport } from "./notify-thresholds.ts";

/** A script's reply to a decision, which is read value by value. */
export interface ReplyCursor {
  readonly values: readonly unknown[];
  /** Whether the request was charged. If so, the values are as of the decision, otherwise as of the last write. */
  readonly isCharged: boolean;
  /** The clock of the decision, in microseconds. */
  readonly now: number;
  next: number;
}

const NONE: readonly never[] = [];

/**
 * Decodes the reply of decide.lua or peek.lua to one call. It has the states, from which the algorithms compute the decision.
 * Undefined for a reply that the scripts never give, such as a denial although every limit allows the request.
 */
export function decodeDecision(
  { mode, cost, counters }: DecideCall,
  reply: unknown,
): StoreDecision | Error | undefined {
  const values: readonly unknown[] = Array.isArray(reply) ? reply : [reply];
  const [first] = values;
  const mayCharge = isCharging(mode);
  const isCharged = mayCharge && Buffer.isBuffer(first);
  const now = isCharged
    ? (readNumbers(first, STAMP_AND_GENERATION)[0] as number)
    : readInteger(first);
  if (now === -1 && values.length === 1) return wrongTypeError(counters);
  if (!Number.isSafeInteger(now)) return undefined;
  const cursor: ReplyCursor = { values, isCharged, now, next: isCharged ? 0 : 1 };
  const states = new Array<CounterState>(counters.length);
  let allowed = true;
  let notifies = false;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const state = decodeCounter(cursor, counter);
    if (state === undefined) return undefined;
    states[u] = state;
    // If the request was charged, its limits allowed it, and the state is that after the charge.
    notifies ||= isCharged && counter.notifyingLimits.length > 0;
    allowed &&= isCharged ? !isBlocked(state) : isAllowing(counter, state, cost);
  }
  if (mayCharge && allowed !== isCharged) return undefined;
  const spends = allowed && mode === "peek" && cost > 0;
  const decided = new Array<CounterDecision>(counters.length);
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const state = states[u] as CounterState;
    const reported = spends ? spend(counter, state.limitStates, cost, false) : undefined;
    const decision = decideCounter(counter, state, cost, allowed, reported);
    if (!areExact(decision.limits)) return undefined;
    decided[u] = decision;
  }
  const thresholds = notifies ? decodeThresholds(cursor, decided) : NONE;
  if (thresholds === undefined || cursor.next !== values.length) return undefined;
  return { now, allowed, counters: decided, thresholds };
}

/** Decodes the reply to a call with `upTo`, which ends with the charged units if the request is charged. */
export function decodeUpTo(call: DecideCall, reply: unknown): StoreDecision | Error | undefined {
  const upTo = call.upTo as number;
  if (!isCharging(call.mode)) {
    const seen = decodeDecision({ ...call, mode: "inspect" }, reply);
    if (seen === undefined || seen instanceof Error) return seen;
    const granted = grantedUnits(seen, upTo);
    if (call.mode === "inspect") return { ...seen, granted };
    return withGranted(decodeDecision({ ...call, cost: Math.max(1, granted) }, reply), granted);
  }
  if (!Array.isArray(reply) || !Buffer.isBuffer(reply[0]))
    return withGranted(decodeDecision(call, reply), 0);
  const granted = readInteger(reply.at(-1));
  if (!(granted >= 1 && granted <= upTo)) return undefined;
  return withGranted(decodeDecision({ ...call, cost: granted }, reply.slice(0, -1)), granted);
}

function withGranted(
  decision: StoreDecision | Error | undefined,
  granted: number,
): StoreDecision | Error | undefined {
  return decision === undefined || decision instanceof Error ? decision : { ...decision, granted };
}

/** Whether the numbers are those of a valid reply, which are whole. */
function areExact(limits: readonly LimitDecision[]): boolean {
  for (let i = 0; i < limits.length; i += 1) {
    const { wait, remaining, resetAfter, refillAfter } = limits[i] as LimitDecision;
    if (!Number.isSafeInteger(wait) || !Number.isSafeInteger(remaining)) return false;
    if (!Number.isSafeInteger(resetAfter) || !Number.isSafeInteger(refillAfter)) return false;
  }
  return true;
}

/** Decodes the end of the reply to a charged call: for each limit that notifies, how many thresholds to report. */
function decodeThresholds(
  cursor: ReplyCursor,
  decided: readonly CounterDecision[],
): readonly ThresholdReport[] | undefined {
  let thresholds: ThresholdReport[] | undefined;
  for (let u = 0; u < decided.length; u += 1) {
    const { counter, limits } = decided[u] as CounterDecision;
    for (const limit of counter.notifyingLimits) {
      const reached = readInteger(cursor.values[cursor.next]);
      cursor.next += 1;
      if (!Number.isSafeInteger(reached)) return undefined;
      const { remaining, resetAfter } = limits[limit] as LimitDecision;
      thresholds ??= [];
      thresholds.push({ counter, limit, reached, remaining, resetAfter });
    }
  }
  return thresholds ?? NONE;
}

/** Decodes the next counter of a reply, updated to the time of the reply; undefined if its value has another shape. */
export function decodeCounter(
  cursor: ReplyCursor,
  { limits, shape }: Counter,
): CounterState | undefined {
  const { values, isCharged, now } = cursor;
  const value = values[cursor.next];
  cursor.next += 1;
  const bytes =
    value === null && !isCharged ? null : isCounterValue(value, shape) ? value : undefined;
  if (bytes === undefined) return undefined;
  const [stamp = now, generation = 0] =
    bytes === null ? [] : readNumbers(bytes, STAMP_AND_GENERATION);
  const limitStates = new Array<unknown>(limits.length);
  for (let i = 0; i < limits.length; i += 1) {
    const { algorithm, quota, shape: limit } = limits[i] as CompiledLimit;
    if (limit.reported !== undefined) {
      const end = cursor.next + limit.reported.length;
      limitStates[i] = algorithm.readState(
        values.slice(cursor.next, end).map(readInteger),
        quota,
        now,
      );
      cursor.next = end;
      continue;
    }
    const offsets = shape.offsets[i] as readonly FieldOffset[];
    limitStates[i] =
      bytes === null
        ? algorithm.createState(quota)
        : algorithm.readState(readNumbers(bytes, offsets), quota, stamp);
    if (!isCharged) algorithm.advance(limitStates[i], quota, Math.max(0, now - stamp), now);
  }
  const hasBlock = bytes !== null && bytes.length > shape.width;
  const block = hasBlock ? decodeBlock(bytes, shape, now) : undefined;
  return {
    stamp: now,
    generation,
    expiresAt: now,
    usedShare: 0,
    logEntries: 0,
    limitStates,
    block,
    thresholdMarks: undefined,
  };
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
