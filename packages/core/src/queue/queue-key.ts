import { includedCounters } from "../policy/costs.ts";
import type { SubjectCounter } from "../policy/counters.ts";

/** The line in which a call waits, shared by all calls that ask the same limits about the same subjects. */
export function queueKeyOf(counters: readonly SubjectCounter[]): string {
  return includedCounters(counters)
    .map(({ key, costs = [] }) => [key, ...excludedIndexes(costs)].join(" "))
    .join(" ");
}

/** The indexes of limits that a cost by name leaves out. */
function excludedIndexes(costs: readonly number[]): readonly number[] {
  return costs.flatMap((units, i) => (units === 0 ? i : []));
}
