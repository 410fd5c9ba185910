import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { FieldOffset } from "../scripts/counter-shape.ts";
import { isValue, newGeneration, numbersIn, STAMP_AND_GENERATION } from "../scripts/digits.ts";
import { thresholdsOf } from "../scripts/rule-digits.ts";
import type { Operation } from "../store/store.ts";
import { changeStep, integersIn } from "./change-step.ts";
import type { Counter } from "./counter.ts";
import { areByName, keepCounter, openCounter, unitsAt, unitsOf } from "./counter.ts";
import { readInteger } from "./list-script.ts";
import { notifyThresholds } from "./notify-thresholds.ts";

/** Units that a limit can hold, and entries that a log can; MOST and ENTRIES in the scripts. */
const MOST = 2_000_000_000;
const ENTRIES = 1_048_576;

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
export const charge: Operation<ChargeCall> = changeStep("charge", {
  write: ({ counters, cost }) =>
    unitsOf(counters, cost) +
    counters.map(({ limits }) => thresholdsOf(limits)).join("") +
    newGeneration(),

  read({ counters }, answer) {
    const size = countedBy(counters);
    if (counters.some(({ shape }) => shape.notifies)) return readTelling(counters, size, answer);
    return areByName(counters) ? integersIn(answer, size) : [readInteger(answer)];
  },

  twin({ cost, alreadyCharged, counters }, memory, moment) {
    const counted: number[] = [];
    const told: number[] = [];
    for (const counter of counters) {
      const open = openCounter(counter, memory, moment);
      counter.limits.forEach((limit, i) => {
        const units = Math.min(unitsAt(counter, i, cost), roomIn(limit, open.states[i]));
        const held = counter.alreadyCharged?.[i] ?? alreadyCharged;
        if (units > 0) limit.algorithm.spend(open.states[i], limit.quota, units, held);
        counted.push(units);
      });
      notifyThresholds(told, counter, open, (i) => unitsAt(counter, i, cost));
      keepCounter(counter, open, memory);
    }
    const units = areByName(counters) ? counted : [Math.min(cost, ...counted)];
    return [moment.now, ...units, ...told];
  },
});

/** How many numbers of a reply are counts of units. */
export function countedBy(counters: readonly Counter[]): number {
  return areByName(counters) ? counters.flatMap(({ limits }) => limits).length : 1;
}

/** The reply of an answer with a report; undefined if the script never gives such an answer. */
function readTelling(
  counters: readonly Counter[],
  size: number,
  answer: unknown,
): readonly number[] | undefined {
  if (!Array.isArray(answer)) return undefined;
  const reply = answer.slice(0, size).map(readInteger);
  let next = size;
  for (const { limits, thresholdMarks, shape } of counters) {
    if (thresholdMarks.length === 0) continue;
    const value: unknown = answer[next];
    if (!isValue(value, shape)) return undefined;
    const [stamp = 0] = numbersIn(value, STAMP_AND_GENERATION);
    next += 1;
    for (const i of thresholdMarks) {
      const { algorithm, quota, shape: own } = limits[i] as CompiledLimit;
      const [reached = Number.NaN, used = Number.NaN] = answer
        .slice(next, next + 2)
        .map(readInteger);
      // A log's entries stay in Redis. The newest is the one of this charge.
      const numbers =
        own.reported === undefined
          ? numbersIn(value, shape.offsets[i] as readonly FieldOffset[])
          : [used, 0, 0, 0];
      const { remaining, reset } = algorithm.report(algorithm.read(numbers, quota, stamp), quota);
      reply.push(reached, remaining, reset);
      next += 2;
    }
  }
  return next === answer.length ? reply : undefined;
}

/** How many more units a limit can hold. */
function roomIn({ algorithm, quota, limit }: CompiledLimit, state: unknown): number {
  if ((algorithm.entries?.(state) ?? 0) >= ENTRIES) return 0;
  const held = limit - algorithm.report(state, quota).remaining;
  return Math.max(0, MOST - held);
}
