import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { newGeneration } from "../scripts/digits.ts";
import type { Counter } from "./counter.ts";
import { areByName, keepCounter, openCounter, unitsAt, unitsOf, weightOf } from "./counter.ts";
import { runOneByOne } from "./counter-step.ts";
import { readEach, readInteger } from "./list-script.ts";
import type { Replies, Step } from "./store.ts";

/** Units that a limit can hold, and entries that a log can: in the scripts, MOST and ENTRIES. */
const MOST = 2_000_000_000;
const ENTRIES = 1_048_576;

/** Units to charge: as many to each limit, unless the counters have costs. */
export interface ChargeCall {
  readonly cost: number;
  /** Units that the same request was charged before. Default 0. */
  readonly beside?: number;
  readonly counters: readonly Counter[];
}

/** Charges counters, whatever is left of their limits. The reply is how many units all limits could hold; with costs, each of them. */
export const charge: Step<ChargeCall> = {
  ...runOneByOne("charge", ({ counters, cost }) => unitsOf(counters, cost) + newGeneration()),

  read: (calls, reply) =>
    areByName((calls[0] as ChargeCall).counters)
      ? readByLimit(calls, reply)
      : readEach(calls, reply),

  weight: ({ counters }) => weightOf(counters, 4),

  twin({ cost, beside, counters }, memory, moment) {
    const counted: number[] = [];
    for (const counter of counters) {
      const open = openCounter(counter, memory, moment);
      counter.limits.forEach((limit, i) => {
        const units = Math.min(unitsAt(counter, i, cost), roomIn(limit, open.states[i]));
        const held = counter.besides?.[i] ?? beside;
        if (units > 0) limit.algorithm.spend(open.states[i], limit.quota, units, held);
        counted.push(units);
      });
      keepCounter(counter, open, memory);
    }
    return [moment.now, ...(areByName(counters) ? counted : [Math.min(cost, ...counted)])];
  },
};

/** The units that each limit could hold. */
function readByLimit(calls: readonly ChargeCall[], reply: unknown): Replies {
  const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return calls.map(({ counters }, i) => {
    const answer = answers[i];
    if (!Array.isArray(answer)) return readInteger(answer) === -1 ? [0, -1] : undefined;
    const counted = answer.map(readInteger);
    const isWhole = counted.length === counters.flatMap(({ limits }) => limits).length;
    return isWhole && counted.every(Number.isSafeInteger) ? [0, ...counted] : undefined;
  });
}

/** How many more units a limit can hold. */
function roomIn({ algorithm, quota, limit }: CompiledLimit, state: unknown): number {
  if ((algorithm.entries?.(state) ?? 0) >= ENTRIES) return 0;
  const held = limit - algorithm.report(state, quota).remaining;
  return Math.max(0, MOST - held);
}
