import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { FieldOffset } from "../scripts/counter-shape.ts";
import {
  isCounterValue,
  newGeneration,
  readNumbers,
  STAMP_AND_GENERATION,
} from "../scripts/digits.ts";
import { encodeThresholds } from "../scripts/encode-rules.ts";
import type { Operation } from "../store/store.ts";
import type { Counter } from "./counter.ts";
import { costAt, encodeCosts, hasCostsByName, loadCounter, saveCounter } from "./counter.ts";
import { readInteger } from "./list-script.ts";
import { defineMutation, readIntegers } from "./mutation.ts";
import { notifyThresholds } from "./notify-thresholds.ts";

/** Units that a limit can hold, and entries that a log can; MOST and ENTRIES in the scripts. */
const MAX_UNITS = 2_000_000_000;
const MAX_ENTRIES = 1_048_576;

/** Units to charge: the same number to each limit, unless the counters have costs. */
export interface ChargeCall {
  readonly cost: number;
  /** Units already charged to the same request. Default 0. */
  readonly alreadyCharged?: number;
  readonly counters: readonly Counter[];
}

/**
 * Charges counters, whatever is left of their limits. The reply is how many units all limits could hold; with costs, each of them. What
 * it told follows, as tell.ts says.
 */
export const charge: Operation<ChargeCall> = defineMutation("charge", {
  encode: ({ counters, cost }) =>
    encodeCosts(counters, cost) +
    counters.map(({ limits }) => encodeThresholds(limits)).join("") +
    newGeneration(),

  decode({ counters }, answer) {
    const size = unitCountOf(counters);
    if (counters.some(({ shape }) => shape.notifies)) return decodeReport(counters, size, answer);
    return hasCostsByName(counters) ? readIntegers(answer, size) : [readInteger(answer)];
  },

  twin({ cost, alreadyCharged, counters }, memory, context) {
    const counted: number[] = [];
    const told: number[] = [];
    for (const counter of counters) {
      const state = loadCounter(counter, memory, context);
      counter.limits.forEach((limit, i) => {
        const units = Math.min(costAt(counter, i, cost), capacityLeft(limit, state.limitStates[i]));
        const held = counter.alreadyCharged?.[i] ?? alreadyCharged;
        if (units > 0) limit.algorithm.spend(state.limitStates[i], limit.quota, units, held);
        counted.push(units);
      });
      notifyThresholds(told, counter, state, (i) => costAt(counter, i, cost));
      saveCounter(counter, state, memory);
    }
    const units = hasCostsByName(counters) ? counted : [Math.min(cost, ...counted)];
    return [context.now, ...units, ...told];
  },
});

/** How many numbers of a reply are counts of units. */
export function unitCountOf(counters: readonly Counter[]): number {
  return hasCostsByName(counters) ? counters.flatMap(({ limits }) => limits).length : 1;
}

/** The reply of an answer with a report; undefined if the script never gives such an answer. */
function decodeReport(
  counters: readonly Counter[],
  size: number,
  answer: unknown,
): readonly number[] | undefined {
  if (!Array.isArray(answer)) return undefined;
  const reply = answer.slice(0, size).map(readInteger);
  let next = size;
  for (const { limits, notifyingLimits, shape } of counters) {
    if (notifyingLimits.length === 0) continue;
    const value: unknown = answer[next];
    if (!isCounterValue(value, shape)) return undefined;
    const [stamp = 0] = readNumbers(value, STAMP_AND_GENERATION);
    next += 1;
    for (const i of notifyingLimits) {
      const { algorithm, quota, shape: limitShape } = limits[i] as CompiledLimit;
      const [reached = Number.NaN, used = Number.NaN] = answer
        .slice(next, next + 2)
        .map(readInteger);
      // A log's entries stay in Redis. The newest is the one of this charge.
      const numbers =
        limitShape.reported === undefined
          ? readNumbers(value, shape.offsets[i] as readonly FieldOffset[])
          : [used, 0, 0, 0];
      const { remaining, resetAfter } = algorithm.report(
        algorithm.readState(numbers, quota, stamp),
        quota,
      );
      reply.push(reached, remaining, resetAfter);
      next += 2;
    }
  }
  return next === answer.length ? reply : undefined;
}

/** How many more units a limit can hold. */
function capacityLeft({ algorithm, quota, limit }: CompiledLimit, state: unknown): number {
  if ((algorithm.entryCount?.(state) ?? 0) >= MAX_ENTRIES) return 0;
  const held = limit - algorithm.report(state, quota).remaining;
  return Math.max(0, MAX_UNITS - held);
}
