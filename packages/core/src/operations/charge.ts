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

/** The most units that a limit can hold; MAX_UNITS in the scripts. */
const MAX_UNITS_PER_LIMIT = 2_000_000_000;
/** The most entries of a log; MAX_ENTRIES in the scripts. */
const MAX_ENTRIES = 1_048_576;

/** Units to charge to counters. Each limit is charged `cost`, unless the counters have costs of their own. */
export interface ChargeCall {
  readonly cost: number;
  /** Units already charged to the same request. Default 0. */
  readonly alreadyCharged?: number;
  readonly counters: readonly Counter[];
}

/**
 * Charges counters regardless of how much of their limits is left. The reply has the units that every limit could hold or,
 * with a cost by name, the units of each limit; then the reached thresholds, as described in notify-thresholds.ts.
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

  runInMemory({ cost, alreadyCharged, counters }, memory, context) {
    const charged: number[] = [];
    const thresholds: number[] = [];
    for (const counter of counters) {
      const state = loadCounter(counter, memory, context);
      counter.limits.forEach((limit, i) => {
        const units = Math.min(costAt(counter, i, cost), capacityLeft(limit, state.limitStates[i]));
        const held = counter.alreadyCharged?.[i] ?? alreadyCharged;
        if (units > 0) limit.algorithm.spend(state.limitStates[i], limit.quota, units, held);
        charged.push(units);
      });
      notifyThresholds(thresholds, counter, state, (i) => costAt(counter, i, cost));
      saveCounter(counter, state, memory);
    }
    const units = hasCostsByName(counters) ? charged : [Math.min(cost, ...charged)];
    return [context.now, ...units, ...thresholds];
  },
});

/** The number of unit counts in a reply. */
export function unitCountOf(counters: readonly Counter[]): number {
  return hasCostsByName(counters) ? counters.flatMap(({ limits }) => limits).length : 1;
}

/** The reply for an answer with reached thresholds; undefined if the script never gives such an answer. */
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
      // The entries of a log stay in Redis, so the state is built from the units used. Its newest entry is this charge.
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
  return Math.max(0, MAX_UNITS_PER_LIMIT - held);
}
