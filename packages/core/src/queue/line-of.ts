import { requestedOf } from "../policy/costs.ts";
import type { SubjectCounter } from "../policy/counters.ts";

/** The line in which a call waits, shared by all calls that ask the same limits about the same subjects. */
export function lineOf(counters: readonly SubjectCounter[]): string {
  return requestedOf(counters)
    .map(({ key, costs = [] }) => [key, ...leftOutBy(costs)].join(" "))
    .join(" ");
}

/** The indexes of limits that a cost by name leaves out. */
function leftOutBy(costs: readonly number[]): readonly number[] {
  return costs.flatMap((units, i) => (units === 0 ? i : []));
}
