import { hasCostsByName } from "../operations/counter.ts";
import { includedCounters } from "../policy/costs.ts";
import type { SubjectCounter } from "../policy/counters.ts";

/** The key of the queue in which a call waits: equal for all calls with the same limits and subjects. */
export function queueKeyOf(counters: readonly SubjectCounter[]): string {
  return includedCounters(counters)
    .map(({ key, costs = [] }) => [key, ...excludedIndexes(costs)].join(" "))
    .join(" ");
}

/** The indexes of limits that a cost by name excludes. */
function excludedIndexes(costs: readonly number[]): readonly number[] {
  return costs.flatMap((units, i) => (units === 0 ? i : []));
}

/** Equal for calls with the same counters and the same cost. */
export function costKeyOf(counters: readonly SubjectCounter[], cost: number): number | string {
  return hasCostsByName(counters) ? counters.map(({ costs }) => `${costs}`).join(";") : cost;
}
