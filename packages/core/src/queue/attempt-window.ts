import type { Decision } from "../common/decision.ts";
import { isConcurrencyLimit } from "../common/decision.ts";

/** The most attempts of one queue that are in flight at once. */
export const MAX_IN_FLIGHT = 64;

/**
 * How many attempts of one queue may be in flight. It is at most the number of calls that fitted into the limits at the last
 * answer, because each attempt may take one of those units. Other processes take units too, so there is also a bound: a denial
 * lowers it to the number of attempts that were allowed since the denial before it, and each allowed attempt raises it by one. So a queue starts at most
 * three attempts for each one that is allowed, one for each end of a wait, and 64.
 */
export class AttemptWindow {
  #fitting = 0;
  #bound = MAX_IN_FLIGHT;
  #allowed = 0;

  /** At least 1: without units left, one attempt finds out how long to wait. */
  get size(): number {
    return Math.max(1, Math.min(this.#fitting, this.#bound));
  }

  /** `fitting` is how many more calls fitted into the limits. */
  onAllowed(fitting: number): void {
    this.#fitting = fitting;
    this.#allowed += 1;
    this.#bound = Math.min(MAX_IN_FLIGHT, this.#bound + 1);
  }

  onDenied(): void {
    this.#fitting = 0;
    this.#bound = Math.min(MAX_IN_FLIGHT, Math.max(1, this.#allowed));
    this.#allowed = 0;
  }

  /** A slot was released in this process, so one attempt more than those in flight may be allowed. */
  onRelease(inFlight: number): void {
    this.#fitting = Math.max(this.#fitting, inFlight) + 1;
    this.#bound = Math.min(MAX_IN_FLIGHT, Math.max(this.#bound, inFlight) + 1);
  }

  /** It is no longer known how many calls fit. */
  forget(): void {
    this.#fitting = 0;
  }
}

/** How many more calls of the same cost fit into the limits after a decision that allowed one; at most 64. */
export function callsThatFit({ limits, cost, shadow }: Decision): number {
  let calls = MAX_IN_FLIGHT;
  if (shadow) return calls;
  for (const limit of limits) {
    const units = typeof cost === "number" ? unitsOf(limit, cost) : (cost[limit.name] ?? 1);
    if (units > 0) calls = Math.min(calls, Math.floor(limit.remaining / units));
  }
  return calls;
}

/** A call takes one slot, whatever its cost. */
function unitsOf(limit: Decision["limits"][number], cost: number): number {
  return isConcurrencyLimit(limit) ? Math.min(1, cost) : cost;
}
