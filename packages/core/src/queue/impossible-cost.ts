import { formatReceived, HeadgateError } from "../common/errors.ts";
import { costAt } from "../operations/counter.ts";
import type { SubjectCounter } from "../policy/counters.ts";

/** A cost above a limit. */
interface ImpossibleCost {
  readonly units: number;
  /** The limit that can never grant it. */
  readonly name: string;
  readonly limit: number;
}

/** The cost at the first limit that can never grant it; undefined if all can. */
export function findImpossibleCost(
  counters: readonly SubjectCounter[],
  cost: number,
): ImpossibleCost | undefined {
  for (const counter of counters) {
    for (const [i, { name, limit }] of counter.limits.entries()) {
      const units = costAt(counter, i, cost);
      if (units > limit) return { units, name, limit };
    }
  }
  return undefined;
}

/** Throws `HEADGATE_COST_ABOVE_LIMIT` for a cost that no wait would make possible. */
export function rejectImpossibleCost(counters: readonly SubjectCounter[], cost: number): void {
  const impossible = findImpossibleCost(counters, cost);
  if (impossible === undefined) return;
  const { units, name, limit } = impossible;
  throw new HeadgateError(
    "HEADGATE_COST_ABOVE_LIMIT",
    `a cost of ${units} can never pass the limit ${formatReceived(name)}, which grants ${limit} at most`,
  );
}
