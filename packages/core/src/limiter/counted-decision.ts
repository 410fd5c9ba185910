import type { Decision, DecisionSource, LimitState } from "../decision.ts";
import { bindingLimit } from "../decision.ts";
import { formatKind, HeadgateError } from "../errors.ts";
import type { Receipt } from "../store/refund.ts";
import type { Counters } from "./counters.ts";

/** How every copy of Headgate asks a decision for its charges, which only the decision itself can read. */
const TAKE_CHARGES = Symbol.for("@headgate/core.take-charges");

/** How it is told that what was taken was not used. */
const RETURN_CHARGES = Symbol.for("@headgate/core.return-charges");

/** What a decision charged in one place. */
export interface Charge {
  readonly receipt: Receipt;
  /** Whether it was charged in this process, because the store could not answer. */
  readonly isLocal: boolean;
}

/** What is known of a decision when it has been taken. */
export interface Outcome {
  readonly allowed: boolean;
  /** In the order of the policy; none when nothing was counted. */
  readonly limits: readonly LimitState[];
  readonly cost: number;
  readonly source: DecisionSource;
  readonly charges: readonly Charge[];
  /** How long a denial lasts for which no limit was asked. Default 0. */
  readonly retryAfterMs?: number;
}

/** What a decision tells that asked no limit. */
const NOTHING_COUNTED = { limit: 0, remaining: 0, retryAfterMs: 0, resetAfterMs: 0 };

const DEGRADED: readonly DecisionSource[] = ["local", "allow", "deny"];

/** A decision, and the receipts of what it charged. */
export class CountedDecision implements Decision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly limits: readonly LimitState[];
  readonly cost: number;
  readonly source: DecisionSource;
  readonly degraded: boolean;
  /** The counters that were asked. */
  readonly #counters: Counters;
  /** Private, so that nobody can make one up; gone once they were used. */
  #charges: readonly Charge[];
  #taken: readonly Charge[] = [];

  constructor(counters: Counters, outcome: Outcome) {
    const { allowed, limits, cost, source, charges, retryAfterMs = 0 } = outcome;
    const binding =
      limits.length > 0 ? bindingLimit(limits, allowed) : { ...NOTHING_COUNTED, retryAfterMs };
    this.allowed = allowed;
    this.limit = binding.limit;
    this.remaining = binding.remaining;
    this.retryAfterMs = allowed ? 0 : binding.retryAfterMs;
    this.resetAfterMs = binding.resetAfterMs;
    this.limits = limits;
    this.cost = cost;
    this.source = source;
    this.degraded = DEGRADED.includes(source);
    this.#counters = counters;
    this.#charges = charges;
  }

  /** Takes the charges out: they can be used once. `false` when other counters were charged. */
  static takeCharges(decision: CountedDecision, counters: Counters): readonly Charge[] | false {
    // What only inherits from a decision, or stands in for one, has no charges of its own.
    if (!(#counters in decision) || !isPartOf(decision.#counters, counters)) return false;
    decision.#taken = decision.#charges;
    decision.#charges = [];
    return decision.#taken;
  }

  static returnCharges(decision: CountedDecision): void {
    decision.#charges = decision.#taken;
    decision.#taken = [];
  }
}

Object.defineProperty(CountedDecision.prototype, TAKE_CHARGES, {
  value(this: CountedDecision, counters: Counters) {
    return CountedDecision.takeCharges(this, counters);
  },
});

Object.defineProperty(CountedDecision.prototype, RETURN_CHARGES, {
  value(this: CountedDecision) {
    CountedDecision.returnCharges(this);
  },
});

/** Puts back what was taken of a decision and not used, so that it can be taken again. */
export function returnCharges(decision: Decision): void {
  (decision as unknown as Record<symbol, () => void>)[RETURN_CHARGES]?.();
}

/** The charges of a decision that any copy of Headgate made on these counters. Throws `HEADGATE_INVALID_DECISION`. */
export function takeCharges(decision: unknown, counters: Counters): readonly Charge[] {
  const take: unknown =
    typeof decision === "object" && decision !== null
      ? (decision as Record<symbol, unknown>)[TAKE_CHARGES]
      : undefined;
  const charges =
    typeof take === "function"
      ? (take.call(decision, counters) as readonly Charge[] | false)
      : false;
  if (charges !== false) return charges;
  throw new HeadgateError(
    "HEADGATE_INVALID_DECISION",
    `refund takes a decision that this limiter made, got ${formatKind(decision)}`,
  );
}

/** Limiters of one name on one store are one, and one that extends another speaks for both. */
function isPartOf(charged: Counters, counters: Counters): boolean {
  if (charged === counters) return true;
  const own = counters.keyspace.split("&");
  return (
    charged.store.owner === counters.store.owner &&
    charged.keyspace.split("&").every((keyspace) => own.includes(keyspace))
  );
}
