import type { Cost } from "../common/cost.ts";
import type { Decision, DecisionSource, LimitState } from "../common/decision.ts";
import { bindingLimit } from "../common/decision.ts";
import { formatKind, HeadgateError } from "../common/errors.ts";
import type { LimitDescription } from "../common/policy.ts";
import type { Counter } from "../operations/counter.ts";
import type { CounterDecision, StoreDecision } from "../operations/decide-call.ts";
import type { Receipt } from "../operations/refund.ts";
import type { CompiledPolicy } from "./compiled-policy.ts";
import { costByName, excludedCounters } from "./costs.ts";
import type { OverrideEffect, SubjectCounter } from "./counters.ts";
import { unitCountersOf } from "./counters.ts";

/** Under this symbol, any copy of Headgate finds the parts of a decision. */
const PARTS = Symbol.for("@headgate/core.decision-parts");

/** The parts of a decision that only Headgate reads. */
interface DecisionParts {
  readonly policy: CompiledPolicy;
  readonly slots: SlotHandle | undefined;
  /** With a cost by name, all counters, including excluded ones. */
  readonly allCounters: readonly SubjectCounter[] | undefined;
  /** Takes the receipts out, so that they are used once. */
  takeReceipts(): readonly Receipt[];
  /** Puts back receipts that were taken but not used. */
  returnReceipts(): void;
}

/** The contents of a decision. */
export interface DecisionInit {
  /** Whether the limits allow the request; in shadow mode, whether they would. */
  readonly allowed: boolean;
  /** In the order of the policy; empty if no limit was decided on. */
  readonly limits: readonly LimitState[];
  readonly cost: Cost;
  readonly source: DecisionSource;
  /** The receipts for the charges, in the store or in this process as `source` says. */
  readonly receipts: readonly Receipt[];
  /** The store's decisions that charged the request, if its receipts are still to be made of them; most are never taken. */
  readonly charges?: readonly StoreDecision[] | undefined;
  /** The concurrency slots that the request took. */
  readonly slots?: SlotHandle | undefined;
  /** Whether a block denied the request. Default false. */
  readonly blocked?: boolean;
  /** The `retryAfterMs` of a denial without limits. Default 0. */
  readonly retryAfterMs?: number;
  /** With a cost by name, all counters, including excluded ones. */
  readonly allCounters?: readonly SubjectCounter[];
  /** The effect of overrides on the decision; undefined if none applies. */
  readonly overrideEffect?: OverrideEffect | undefined;
}

/** The numbers of a decision without limits. */
const NOTHING_COUNTED = { limit: 0, remaining: 0, resetAfterMs: 0 };

const NONE: readonly never[] = [];

/** The decision that callers get, with its receipts and slots in private fields. */
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
  /** The policy whose counters the decision is about. */
  readonly #policy: CompiledPolicy;
  readonly #init: DecisionInit;
  /** Private, so that receipts cannot be forged; empty once they are taken, and undefined before they are made. */
  #receipts: readonly Receipt[] | undefined;
  #takenReceipts: readonly Receipt[] = NONE;

  constructor(policy: CompiledPolicy, init: DecisionInit) {
    const { allowed, blocked = false, limits, cost, source, retryAfterMs = 0 } = init;
    const { overrideEffect } = init;
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
    this.#init = init;
    this.#receipts = init.charges === undefined ? init.receipts : undefined;
  }

  get signal(): AbortSignal | undefined {
    return #init in this ? this.#init.slots?.signal : undefined;
  }

  static {
    // A method that is defined here can read the private fields.
    Object.assign(LimiterDecision.prototype, {
      [PARTS](this: LimiterDecision): DecisionParts | undefined {
        // An object that inherits from a decision, or imitates one, has no parts.
        if (!(#policy in this)) return undefined;
        return {
          policy: this.#policy,
          slots: this.#init.slots,
          allCounters: this.#init.allCounters,
          takeReceipts: () => {
            const { cost, charges = NONE } = this.#init;
            this.#takenReceipts =
              this.#receipts ?? receiptsOf(this.#policy, cost as number, charges);
            this.#receipts = NONE;
            return this.#takenReceipts;
          },
          returnReceipts: () => {
            this.#receipts = this.#takenReceipts;
            this.#takenReceipts = NONE;
          },
        };
      },
    });
  }
}

/** The decision on a request for up to `upTo` units. */
export class GrantedDecision extends LimiterDecision {
  readonly granted: number;

  constructor(policy: CompiledPolicy, init: DecisionInit, upTo: number) {
    super(policy, init);
    // In shadow mode, nothing is withheld from the caller.
    this.granted = this.shadow ? upTo : init.allowed ? (init.cost as number) : 0;
  }
}

/** The contents of a decision with a cost by name: with all counters, and receipts for the excluded ones. */
export function withCostByName(
  policy: CompiledPolicy,
  allCounters: readonly SubjectCounter[],
  init: DecisionInit,
): DecisionInit {
  const { receipts, charges = NONE } = init;
  const charged = [...receipts, ...receiptsOf(policy, init.cost as number, charges)];
  const excluded = receiptsForExcluded(init, charged, allCounters);
  return {
    ...init,
    cost: costByName(allCounters),
    receipts: [...charged, ...excluded],
    charges: undefined,
    allCounters,
  };
}

/** The receipt for excluded counters, which are charged nothing, but may be charged when the decision is settled. */
function receiptsForExcluded(
  { slots }: DecisionInit,
  charged: readonly Receipt[],
  allCounters: readonly SubjectCounter[],
): readonly Receipt[] {
  const isTaken = charged.length > 0 || slots !== undefined;
  const counters = isTaken ? excludedCounters(unitCountersOf(allCounters)) : [];
  if (counters.length === 0) return NONE;
  return [emptyReceipt(counters)];
}

/** The receipt for counters that were charged nothing; settling may charge them. */
export function emptyReceipt(counters: readonly Counter[]): Receipt {
  return { cost: 0, chargedAt: 0, counters, generations: counters.map(() => 0) };
}

/** All limits of a decision's policy, including those that a cost by name excludes; undefined if it excludes none. */
export function allLimitsOf(decision: Decision): readonly LimitDescription[] | undefined {
  const { allCounters } = partsOf(decision) ?? {};
  if (allCounters === undefined) return undefined;
  const described: LimitDescription[] = [];
  for (const { group, limits } of allCounters) {
    limits.forEach((limit, i) => {
      described[group.positions[i] as number] = limit;
    });
  }
  const all = described.filter((limit) => limit !== undefined);
  return all.length > decision.limits.length ? all : undefined;
}

/** Puts back receipts that were taken but not used, so that they can be taken again. */
export function returnReceipts(decision: Decision): void {
  partsOf(decision)?.returnReceipts();
}

/** Takes the receipts out of a decision under this policy, made by any copy of Headgate. Throws `HEADGATE_INVALID_DECISION`. */
export function takeReceipts(decision: unknown, policy: CompiledPolicy): readonly Receipt[] {
  return requireParts(decision, policy).takeReceipts();
}

/**
 * The slots that a decision under this policy took, made by any copy of Headgate; undefined if it took none. Throws
 * `HEADGATE_INVALID_DECISION`.
 */
export function slotsOf(decision: unknown, policy: CompiledPolicy): SlotHandle | undefined {
  return requireParts(decision, policy).slots;
}

function requireParts(decision: unknown, policy: CompiledPolicy): DecisionParts {
  const parts = partsOf(decision);
  if (parts !== undefined && isPartOf(parts.policy, policy)) return parts;
  throw new HeadgateError(
    "HEADGATE_INVALID_DECISION",
    `refund, settle and release take a decision that this limiter made, got ${formatKind(decision)}`,
  );
}

function partsOf(decision: unknown): DecisionParts | undefined {
  if (typeof decision !== "object" || decision === null) return undefined;
  const method = (decision as Record<symbol, unknown>)[PARTS];
  return typeof method === "function" ? (method.call(decision) as DecisionParts) : undefined;
}

/**
 * Whether a decision under one policy belongs to the limiter of another: limiters with the same name on the same store are one
 * limiter, and a limiter that extends another one counts for both.
 */
function isPartOf(decided: CompiledPolicy, policy: CompiledPolicy): boolean {
  if (decided === policy) return true;
  if (decided.store.owner === policy.store.owner && decided.keyspace === policy.keyspace) {
    return true;
  }
  const own = policy.keyspace.split("&");
  return (
    decided.store.owner === policy.store.owner &&
    decided.keyspace.split("&").every((keyspace) => own.includes(keyspace))
  );
}

/** The slots that a decision took, one or more in each concurrency limit. */
export interface SlotHandle {
  /** Aborts when a slot is lost, or when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Records that the store granted the slots. */
  markGranted(): void;
  /** Renews the slots until they are released, lost or abandoned. Skips a renewal if `isNeeded` returns false. */
  startRenewing(isNeeded?: () => boolean): void;
  /** Stops renewing the slots and aborts `signal`, because the client has disconnected. */
  abandon(): void;
  /**
   * Releases the slots, once. Resolves with true if one of them was still held. Rejects with the store's errors: then the release
   * can be repeated; otherwise the slots expire.
   */
  release(): Promise<boolean>;
}

/**
 * The receipts for the units that were charged, one for each decision. Slots are released, not refunded: a decision on concurrency
 * counters alone has no receipt.
 */
export function receiptsOf(
  { hasSlots }: CompiledPolicy,
  cost: number,
  decisions: readonly StoreDecision[],
): readonly Receipt[] {
  return decisions.flatMap(({ now, counters }) => {
    const charged = hasSlots ? counters.filter(isOfUnitCounter) : counters;
    if (charged.length === 0) return [];
    const generations = charged.map(({ generation }) => generation);
    return { cost, chargedAt: now, counters: charged.map(({ counter }) => counter), generations };
  });
}

function isOfUnitCounter({ counter }: CounterDecision): boolean {
  return (counter as SubjectCounter).group.slotTtl === undefined;
}
