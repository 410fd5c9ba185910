import type { Cost } from "../base/cost.ts";
import type { Decision, DecisionSource, LimitState } from "../base/decision.ts";
import { bindingLimit } from "../base/decision.ts";
import { formatKind, HeadgateError } from "../base/errors.ts";
import type { LimitDescription } from "../base/policy.ts";
import type { Counter } from "../store/counter.ts";
import type { Receipt } from "../store/refund.ts";
import { costByName, leftOutOf } from "./costs.ts";
import type { CountedPolicy } from "./counted-policy.ts";
import type { OverriddenTerms, SubjectCounter } from "./counters.ts";
import { unitsOnly } from "./counters.ts";
import type { HeldPlaces } from "./held-places.ts";

/** How any copy of Headgate asks a decision for its receipts, which only the decision itself can read. */
const TAKE_RECEIPTS = Symbol.for("@headgate/core.take-receipts");

/** How it is asked for its places. */
const PLACES_OF = Symbol.for("@headgate/core.places-of");

/** How it learns that receipts that were taken out were not used. */
const RETURN_RECEIPTS = Symbol.for("@headgate/core.return-receipts");

/** How it learns of limits that a decision left out. */
const DESCRIBE_LIMITS = Symbol.for("@headgate/core.describe-limits");

/** What is known about a decision once it has been taken. */
export interface Outcome {
  /** What the limits say: in shadow, what the decision would be. */
  readonly allowed: boolean;
  /** In the order of the policy; none when nothing was counted. */
  readonly limits: readonly LimitState[];
  readonly cost: Cost;
  readonly source: DecisionSource;
  /** Of what was charged where the decision was taken, as `source` says. */
  readonly receipts: readonly Receipt[];
  /** Places that it took. */
  readonly places?: HeldPlaces | undefined;
  /** Whether a block denied. Default false. */
  readonly blocked?: boolean;
  /** How long a denial lasts for which no limit was asked. Default 0. */
  readonly retryAfterMs?: number;
  /** The counters of a cost by name, those it leaves out too. */
  readonly named?: readonly SubjectCounter[];
  /** What overrides make of it; undefined where none was in force. */
  readonly terms?: OverriddenTerms | undefined;
}

/** What a decision that asked no limit reports. */
const NOTHING_COUNTED = { limit: 0, remaining: 0, resetAfterMs: 0 };

const NONE: readonly Receipt[] = [];

/** A decision, and the receipts of what it charged. */
export class CountedDecision implements Decision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly limits: readonly LimitState[];
  readonly cost: Cost;
  readonly source: DecisionSource;
  readonly degraded: boolean;
  readonly blocked: boolean;
  readonly overridden: boolean;
  readonly shadow: boolean;
  readonly wouldAllow: boolean;
  /** The counters that were asked. */
  readonly #counted: CountedPolicy;
  /** Private, so that none can be forged; removed once they are used. */
  #receipts: readonly Receipt[];
  #taken: readonly Receipt[] = NONE;
  readonly #places: HeldPlaces | undefined;
  /** The counters of a cost by name, those it leaves out too. */
  readonly #named: readonly SubjectCounter[] | undefined;

  constructor(counted: CountedPolicy, outcome: Outcome) {
    const { allowed, blocked = false, limits, cost, source, receipts, retryAfterMs = 0 } = outcome;
    const { terms } = outcome;
    const shadow = terms === undefined ? counted.shadow : terms.shadow;
    const binding =
      limits.length > 1
        ? bindingLimit(limits, allowed)
        : (limits[0] ?? { ...NOTHING_COUNTED, retryAfterMs });
    this.allowed = allowed || shadow;
    this.limit = binding.limit;
    this.remaining = binding.remaining;
    this.retryAfterMs = this.allowed ? 0 : binding.retryAfterMs;
    this.resetAfterMs = binding.resetAfterMs;
    this.limits = limits;
    this.cost = cost;
    this.source = source;
    this.degraded = source !== "store" && source !== "deny-cache" && source !== "lease";
    this.blocked = blocked;
    this.overridden = terms !== undefined;
    this.shadow = shadow;
    this.wouldAllow = allowed;
    this.#counted = counted;
    this.#receipts = receipts;
    this.#named = outcome.named;
    this.#places = outcome.places;
  }

  get signal(): AbortSignal | undefined {
    return #places in this ? this.#places?.signal : undefined;
  }

  /** Takes the receipts out: they can be used once. `false` when other counters were charged. */
  static take(decision: CountedDecision, counted: CountedPolicy): readonly Receipt[] | false {
    // An object that inherits from a decision, or imitates one, has no receipts of its own.
    if (!(#counted in decision) || !isPartOf(decision.#counted, counted)) return false;
    decision.#taken = decision.#receipts;
    decision.#receipts = NONE;
    return decision.#taken;
  }

  /** The places that it took, if any. `false` when they were taken of other counters. */
  static placesOf(
    decision: CountedDecision,
    counted: CountedPolicy,
  ): HeldPlaces | undefined | false {
    if (!(#counted in decision) || !isPartOf(decision.#counted, counted)) return false;
    return decision.#places;
  }

  /** Every limit that was to be asked, in the order of the policy; undefined where none of them was left out. */
  static describe(decision: CountedDecision): readonly LimitDescription[] | undefined {
    const described: LimitDescription[] = [];
    for (const { group, limits } of decision.#named ?? []) {
      limits.forEach((limit, i) => {
        described[group.positions[i] as number] = limit;
      });
    }
    const all = described.filter((limit) => limit !== undefined);
    return all.length > decision.limits.length ? all : undefined;
  }

  static returnReceipts(decision: CountedDecision): void {
    decision.#receipts = decision.#taken;
    decision.#taken = NONE;
  }
}

Object.defineProperty(CountedDecision.prototype, TAKE_RECEIPTS, {
  value(this: CountedDecision, counted: CountedPolicy) {
    return CountedDecision.take(this, counted);
  },
});

Object.defineProperty(CountedDecision.prototype, PLACES_OF, {
  value(this: CountedDecision, counted: CountedPolicy) {
    return CountedDecision.placesOf(this, counted);
  },
});

Object.defineProperty(CountedDecision.prototype, RETURN_RECEIPTS, {
  value(this: CountedDecision) {
    CountedDecision.returnReceipts(this);
  },
});

Object.defineProperty(CountedDecision.prototype, DESCRIBE_LIMITS, {
  value(this: CountedDecision) {
    return CountedDecision.describe(this);
  },
});

/** An outcome of a cost by name, of these counters, with those that it leaves out. */
export function withNamed(named: readonly SubjectCounter[], outcome: Outcome): Outcome {
  const receipts = [...outcome.receipts, ...receiptOfLeftOut(outcome, named)];
  return { ...outcome, cost: costByName(named), receipts, named };
}

/** Counters that were left out are charged nothing, and may be charged when the decision is settled. */
function receiptOfLeftOut(
  { receipts, places }: Outcome,
  named: readonly SubjectCounter[],
): readonly Receipt[] {
  const isTaken = receipts.length > 0 || places !== undefined;
  const counters = isTaken ? leftOutOf(unitsOnly(named)) : [];
  if (counters.length === 0) return NONE;
  return [uncharged(counters)];
}

/** The receipt of counters that were charged nothing: a settle may charge them. */
export function uncharged(counters: readonly Counter[]): Receipt {
  return { cost: 0, charged: 0, counters, generations: counters.map(() => 0) };
}

/** Every limit that a decision was to ask, also those that a cost by name left out; undefined where it left out none. */
export function limitsBefore(decision: Decision): readonly LimitDescription[] | undefined {
  const describe = (decision as unknown as Record<symbol, unknown>)[DESCRIBE_LIMITS];
  return typeof describe === "function"
    ? (describe.call(decision) as readonly LimitDescription[] | undefined)
    : undefined;
}

/** Puts back what was taken of a decision and not used, so that it can be taken again. */
export function returnReceipts(decision: Decision): void {
  (decision as unknown as Record<symbol, () => void>)[RETURN_RECEIPTS]?.();
}

/** The receipts of a decision that any copy of Headgate made on these counters. Throws `HEADGATE_INVALID_DECISION`. */
export function takeReceipts(decision: unknown, counted: CountedPolicy): readonly Receipt[] {
  return askDecision(decision, TAKE_RECEIPTS, counted);
}

/** The places that a decision took, which any copy of Headgate made on these counters; undefined when it took none. Throws `HEADGATE_INVALID_DECISION`. */
export function placesOf(decision: unknown, counted: CountedPolicy): HeldPlaces | undefined {
  return askDecision(decision, PLACES_OF, counted);
}

function askDecision<T>(decision: unknown, question: symbol, counted: CountedPolicy): T {
  const ask: unknown =
    typeof decision === "object" && decision !== null
      ? (decision as Record<symbol, unknown>)[question]
      : undefined;
  const answer = typeof ask === "function" ? (ask.call(decision, counted) as T | false) : false;
  if (answer !== false) return answer;
  throw new HeadgateError(
    "HEADGATE_INVALID_DECISION",
    `refund, settle and release take a decision that this limiter made, got ${formatKind(decision)}`,
  );
}

/** Limiters of one name on one store are one, and one that extends another speaks for both. */
function isPartOf(charged: CountedPolicy, counted: CountedPolicy): boolean {
  if (charged === counted) return true;
  if (charged.store.owner === counted.store.owner && charged.keyspace === counted.keyspace) {
    return true;
  }
  const own = counted.keyspace.split("&");
  return (
    charged.store.owner === counted.store.owner &&
    charged.keyspace.split("&").every((keyspace) => own.includes(keyspace))
  );
}
