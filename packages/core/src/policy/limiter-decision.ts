import type { Cost } from "../common/cost.ts";
import type { Decision, DecisionSource, LimitState } from "../common/decision.ts";
import { bindingLimit } from "../common/decision.ts";
import { formatKind, HeadgateError } from "../common/errors.ts";
import type { LimitDescription } from "../common/policy.ts";
import type { Counter } from "../operations/counter.ts";
import type { Receipt } from "../operations/refund.ts";
import type { CompiledPolicy } from "./compiled-policy.ts";
import { costByName, excludedCounters } from "./costs.ts";
import type { OverrideEffect, SubjectCounter } from "./counters.ts";
import { unitCountersOf } from "./counters.ts";
import type { SlotHandle } from "./slot.ts";

/** Lets any copy of Headgate take the receipts out of a decision, which only the decision itself can read. */
const TAKE_RECEIPTS = Symbol.for("@headgate/core.take-receipts");

/** Lets any copy get the slots of a decision. */
const SLOTS_OF = Symbol.for("@headgate/core.places-of");

/** Lets any copy return receipts that it took but did not use. */
const RETURN_RECEIPTS = Symbol.for("@headgate/core.return-receipts");

/** Lets any copy read the limits that a decision left out. */
const DESCRIBE_LIMITS = Symbol.for("@headgate/core.describe-limits");

/** The result of deciding, from which a decision is made. */
export interface DecisionInit {
  /** Whether the limits allow it; in shadow mode, whether they would have. */
  readonly allowed: boolean;
  /** In the order of the policy; empty if nothing was counted. */
  readonly limits: readonly LimitState[];
  readonly cost: Cost;
  readonly source: DecisionSource;
  /** For the charges made where the decision was made, as `source` says. */
  readonly receipts: readonly Receipt[];
  /** The concurrency slots that it took. */
  readonly slots?: SlotHandle | undefined;
  /** Whether a block denied it. Default false. */
  readonly blocked?: boolean;
  /** How long a denial lasts that was made without asking a limit. Default 0. */
  readonly retryAfterMs?: number;
  /** With a cost by name, all counters, including those that were left out. */
  readonly allCounters?: readonly SubjectCounter[];
  /** The terms of the overrides in force; undefined if there are none. */
  readonly overrideEffect?: OverrideEffect | undefined;
}

/** The numbers of a decision that was made without asking a limit. */
const NOTHING_COUNTED = { limit: 0, remaining: 0, resetAfterMs: 0 };

const NONE: readonly Receipt[] = [];

/** A decision, and the receipts for its charges. */
export class LimiterDecision implements Decision {
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
  /** The policy whose counters were asked. */
  readonly #policy: CompiledPolicy;
  /** Private, so that receipts cannot be forged; removed once they are used. */
  #receipts: readonly Receipt[];
  #takenReceipts: readonly Receipt[] = NONE;
  readonly #slots: SlotHandle | undefined;
  /** With a cost by name, all counters, including those that were left out. */
  readonly #allCounters: readonly SubjectCounter[] | undefined;

  constructor(policy: CompiledPolicy, outcome: DecisionInit) {
    const { allowed, blocked = false, limits, cost, source, receipts, retryAfterMs = 0 } = outcome;
    const { overrideEffect } = outcome;
    const shadow = overrideEffect === undefined ? policy.shadow : overrideEffect.shadow;
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
    this.overridden = overrideEffect !== undefined;
    this.shadow = shadow;
    this.wouldAllow = allowed;
    this.#policy = policy;
    this.#receipts = receipts;
    this.#allCounters = outcome.allCounters;
    this.#slots = outcome.slots;
  }

  get signal(): AbortSignal | undefined {
    return #slots in this ? this.#slots?.signal : undefined;
  }

  static {
    // Only here can they read what a decision keeps to itself.
    Object.assign(LimiterDecision.prototype, {
      /** Takes the receipts out: they can be used once. `false` if the decision charged other counters. */
      [TAKE_RECEIPTS](this: LimiterDecision, policy: CompiledPolicy): readonly Receipt[] | false {
        // An object that inherits from a decision, or imitates one, has no receipts.
        if (!(#policy in this) || !isPartOf(this.#policy, policy)) return false;
        this.#takenReceipts = this.#receipts;
        this.#receipts = NONE;
        return this.#takenReceipts;
      },

      /** The slots that it took, if any. `false` if they belong to other counters. */
      [SLOTS_OF](this: LimiterDecision, policy: CompiledPolicy): SlotHandle | undefined | false {
        if (!(#policy in this) || !isPartOf(this.#policy, policy)) return false;
        return this.#slots;
      },

      /** Every limit of the policy, in its order; undefined if none was left out. */
      [DESCRIBE_LIMITS](this: LimiterDecision): readonly LimitDescription[] | undefined {
        const described: LimitDescription[] = [];
        for (const { group, limits } of this.#allCounters ?? []) {
          limits.forEach((limit, i) => {
            described[group.positions[i] as number] = limit;
          });
        }
        const all = described.filter((limit) => limit !== undefined);
        return all.length > this.limits.length ? all : undefined;
      },

      [RETURN_RECEIPTS](this: LimiterDecision): void {
        this.#receipts = this.#takenReceipts;
        this.#takenReceipts = NONE;
      },
    });
  }
}

/** An outcome with all counters of a cost by name, including those that it leaves out. */
export function withCostByName(
  allCounters: readonly SubjectCounter[],
  init: DecisionInit,
): DecisionInit {
  const receipts = [...init.receipts, ...receiptsForExcluded(init, allCounters)];
  return { ...init, cost: costByName(allCounters), receipts, allCounters };
}

/** Counters that were left out are charged nothing now, but may be charged when the decision is settled. */
function receiptsForExcluded(
  { receipts, slots }: DecisionInit,
  named: readonly SubjectCounter[],
): readonly Receipt[] {
  const isTaken = receipts.length > 0 || slots !== undefined;
  const counters = isTaken ? excludedCounters(unitCountersOf(named)) : [];
  if (counters.length === 0) return NONE;
  return [emptyReceipt(counters)];
}

/** A receipt for counters that were charged nothing; settling may charge them. */
export function emptyReceipt(counters: readonly Counter[]): Receipt {
  return { cost: 0, chargedAt: 0, counters, generations: counters.map(() => 0) };
}

/** Every limit of the decision's policy, including limits left out by a cost by name; undefined if none was left out. */
export function allLimitsOf(decision: Decision): readonly LimitDescription[] | undefined {
  const describe = (decision as unknown as Record<symbol, unknown>)[DESCRIBE_LIMITS];
  return typeof describe === "function"
    ? (describe.call(decision) as readonly LimitDescription[] | undefined)
    : undefined;
}

/** Returns receipts that were taken but not used, so that they can be taken again. */
export function returnReceipts(decision: Decision): void {
  (decision as unknown as Record<symbol, () => void>)[RETURN_RECEIPTS]?.();
}

/** The receipts of a decision on these counters, made by any copy of Headgate. Throws `HEADGATE_INVALID_DECISION`. */
export function takeReceipts(decision: unknown, policy: CompiledPolicy): readonly Receipt[] {
  return callDecisionMethod(decision, TAKE_RECEIPTS, policy);
}

/**
 * The slots taken by a decision on these counters, made by any copy of Headgate; undefined if it took none. Throws
 * `HEADGATE_INVALID_DECISION`.
 */
export function slotsOf(decision: unknown, policy: CompiledPolicy): SlotHandle | undefined {
  return callDecisionMethod(decision, SLOTS_OF, policy);
}

function callDecisionMethod<T>(decision: unknown, method: symbol, policy: CompiledPolicy): T {
  const implementation: unknown =
    typeof decision === "object" && decision !== null
      ? (decision as Record<symbol, unknown>)[method]
      : undefined;
  const result =
    typeof implementation === "function"
      ? (implementation.call(decision, policy) as T | false)
      : false;
  if (result !== false) return result;
  throw new HeadgateError(
    "HEADGATE_INVALID_DECISION",
    `refund, settle and release take a decision that this limiter made, got ${formatKind(decision)}`,
  );
}

/** Limiters with the same name on the same store are one limiter, and a limiter that extends another counts for both. */
function isPartOf(charged: CompiledPolicy, policy: CompiledPolicy): boolean {
  if (charged === policy) return true;
  if (charged.store.owner === policy.store.owner && charged.keyspace === policy.keyspace) {
    return true;
  }
  const own = policy.keyspace.split("&");
  return (
    charged.store.owner === policy.store.owner &&
    charged.keyspace.split("&").every((keyspace) => own.includes(keyspace))
  );
}
