import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { MAX_UNITS_PER_LIMIT } from "../algorithms/blocks.ts";
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
import { defineMutation, readIntegers } from "./mutation.ts";
import type { ThresholdReport } from "./notify-thresholds.ts";
import { notifyThresholds } from "./notify-thresholds.ts";

/** The most entries of a log; MAX_ENTRIES in the scripts. */
const MAX_ENTRIES = 1_048_576;

/** Units to charge to counters. Each limit is charged `cost`, unless the counters have costs of their own. */
export interface ChargeCall {
  readonly cost: number;
  /** Units already charged to the same request. Default 0. */
  readonly alreadyCharged?: number;
  readonly counters: readonly Counter[];
}

/** The result of a charge. */
export interface ChargeReply {
  /** The units that every limit could hold or, with a cost by name, the units of each limit. */
  readonly units: readonly number[];
  /** One for each limit that notifies. */
  readonly thresholds: readonly ThresholdReport[];
}

/** Charges counters regardless of how much of their limits is left. */
export const charge: Operation<ChargeCall, ChargeReply> = defineMutation("charge", {
  encode: ({ counters, cost }) =>
    encodeCosts(counters, cost) +
    counters.map(({ limits }) => encodeThresholds(limits)).join("") +
    newGeneration(),

  decode: decodeCharge,

  runInMemory({ cost, alreadyCharged, counters }, memory, context) {
    const charged: number[] = [];
    const thresholds: ThresholdReport[] = [];
    for (const counter of counters) {
      const state = loadCounter(counter, memory, context);
      counter.limits.forEach((limit, i) => {
        const units = Math.min(costAt(counter, i, cost), capacityLeft(limit, state.limitStates[i]));
        const held = counter.alreadyCharged?.[i] ?? alreadyCharged;
        if (units > 0) limit.algorithm.spend(state.limitStates[i], limit.quota, units, held);
        charged.push(units);
      });
      notifyThresholds(thresholds, counter, state, cost);
      saveCounter(counter, state, memory);
    }
    const units = hasCostsByName(counters) ? charged : [Math.min(cost, ...charged)];
    return { units, thresholds };
  },
});

/**
 * The script replies with one integer, or with a list: the integers, then, for each counter that notifies, its value, and for each
 * limit of it that notifies, the number of thresholds to report and the used units of a log.
 */
function decodeCharge({ counters }: ChargeCall, reply: unknown): ChargeReply | undefined {
  const size = hasCostsByName(counters) ? counters.flatMap(({ limits }) => limits).length : 1;
  const notifies = counters.some(({ shape }) => shape.notifies);
  const values: unknown = notifies || hasCostsByName(counters) ? reply : [reply];
  if (!Array.isArray(values)) return undefined;
  const units = readIntegers(values.slice(0, size), size);
  const thresholds = decodeThresholds(counters, values.slice(size));
  return units && thresholds && { units, thresholds };
}

function decodeThresholds(
  counters: readonly Counter[],
  values: readonly unknown[],
): readonly ThresholdReport[] | undefined {
  const thresholds: ThresholdReport[] = [];
  let next = 0;
  for (const counter of counters) {
    const { limits, notifyingLimits, shape } = counter;
    if (notifyingLimits.length === 0) continue;
    const value: unknown = values[next];
    if (!isCounterValue(value, shape)) return undefined;
    const [stamp = 0] = readNumbers(value, STAMP_AND_GENERATION);
    next += 1;
    for (const limit of notifyingLimits) {
      const { algorithm, quota, shape: limitShape } = limits[limit] as CompiledLimit;
      const [reached, used] = readIntegers(values.slice(next, next + 2), 2) ?? [];
      if (reached === undefined || used === undefined) return undefined;
      // The entries of a log stay in Redis, so the state is built from the units used. Its newest entry is this charge.
      const numbers =
        limitShape.reported === undefined
          ? readNumbers(value, shape.offsets[limit] as readonly FieldOffset[])
          : [used, 0, 0, 0];
      const state = algorithm.readState(numbers, quota, stamp);
      const { remaining, resetAfter } = algorithm.report(state, quota);
      thresholds.push({ counter, limit, reached, remaining, resetAfter });
      next += 2;
    }
  }
  return next === values.length ? thresholds : undefined;
}

function capacityLeft({ algorithm, quota, limit }: CompiledLimit, state: unknown): number {
  if ((algorithm.entryCount?.(state) ?? 0) >= MAX_ENTRIES) return 0;
  const held = limit - algorithm.report(state, quota).remaining;
  return Math.max(0, MAX_UNITS_PER_LIMIT - held);
}
