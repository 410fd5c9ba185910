import type { ChargeResult } from "../common/charge-result.ts";
import { NO_CHARGE, noChargeByName } from "../common/charge-result.ts";
import type { Cost } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import { isConcurrencyLimit } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import { rejectExtraArgument, rejectUnknownOptions } from "../common/options.ts";
import type { LimitDescription } from "../common/policy.ts";
import { requireUnreached } from "../health/store-failure.ts";
import type { Counter } from "../operations/counter.ts";
import { hasCostsByName } from "../operations/counter.ts";
import type { Receipt } from "../operations/refund.ts";
import {
  applyMutations,
  chargeCounters,
  confirmMutation,
  refundMutation,
} from "../pipeline/mutations.ts";
import type { Mutation, Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { chargeableLimits } from "../policy/compiled-policy.ts";
import { assignCosts, includedCounters, requireSameForm } from "../policy/costs.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import { unitCountersOf } from "../policy/counters.ts";
import { allLimitsOf, returnReceipts, slotsOf, takeReceipts } from "../policy/limiter-decision.ts";
import { hasNoChanges, planSettle, settlementResult, unsettledResult } from "../policy/settle.ts";
import type { ConsumePath } from "./consume.ts";
import type { ChargeOptions, Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";
import { readCharge, readUnits } from "./read-cost.ts";

/** Charges without a decision, settles and refunds. */
export function createCharging(
  core: LimiterCore,
  { policyOf, countersOf }: Pick<ConsumePath, "policyOf" | "countersOf">,
): Pick<Limiter, "charge" | "settle" | "refund" | "release"> {
  const { counted, shapes, chain, fallback, watch, overrides } = core;
  const chargeable = chargeableLimits(counted);

  /** Returns if the store did not get a call; throws every other error. */
  function requireAway(error: unknown): void {
    if (watch === undefined) throw error;
    requireUnreached(error, watch.notices);
  }

  /** Charges in this process if the store did not get the charge, provided that the failure policy counts locally. */
  async function chargeLocally(
    missed: readonly Counter[],
    cost: number,
    error: unknown,
  ): Promise<ChargeResult<Cost>> {
    requireAway(error);
    if (fallback?.onUnavailable !== "local") return unreached(missed);
    const own = (missed as readonly SubjectCounter[]).map(fallback.localShareOf);
    const charged = await chargeCounters(fallback, own, cost, 0, rethrow);
    return { ...charged, degraded: true };
  }

  async function chargeNamed(
    policy: CompiledPolicy,
    subject: Subjects,
    cost: Cost,
  ): Promise<ChargeResult<Cost>> {
    const named = unitCountersOf(countersOf(policy, subject));
    // If there is nothing to wait for, the call is sent at once, so that calls keep their order.
    const refreshed = overrides?.refresh();
    if (refreshed !== undefined) await refreshed;
    const units = assignCosts(overrides?.apply(named, policy) ?? named, cost);
    if (units.counters.length === 0 || units.cost === 0) {
      return typeof cost === "number" ? NO_CHARGE : noChargeByName(chargeableLimits(policy));
    }
    return chargeCounters(chain, includedCounters(units.counters), units.cost, 0, (missed, error) =>
      chargeLocally(missed, units.cost, error),
    );
  }

  /** Why a server of these charges is known to be down; undefined if none is. */
  function downReason(receipts: readonly Receipt[]): HeadgateError | undefined {
    for (const { counters } of receipts) {
      for (const { key } of counters) {
        const reason = watch?.downReason(key);
        if (reason !== undefined) return reason;
      }
    }
    return undefined;
  }

  /** Whether the store got all of these changes. */
  async function isReached<Call>(
    stage: Stage,
    changes: readonly Mutation<Call>[],
  ): Promise<boolean> {
    try {
      await applyMutations(stage, changes);
      return true;
    } catch (error) {
      requireAway(error);
      return false;
    }
  }

  /** The limits by whose names a decision can be settled: the limiter's own, and those of a policy passed with the call. */
  function settledOf(decision: Decision): readonly Pick<LimitDescription, "name">[] {
    if (!shapes.isUsed) return chargeable;
    const asked = allLimitsOf(decision) ?? decision?.limits ?? [];
    return [...chargeable, ...asked.filter((limit) => !isConcurrencyLimit(limit))];
  }

  async function settle(decision: Decision, units: Cost): Promise<ChargeResult<Cost>> {
    const receipts = takeReceipts(decision, counted);
    const { source, shadow } = decision;
    const nothing = typeof units === "number" ? NO_CHARGE : noChargeByName(settledOf(decision));
    // With `onUnavailable: "allow"` nothing was counted.
    if (source === "allow") return { ...nothing, degraded: true };
    if (receipts.length === 0) return nothing;
    const isLocal = source === "local";
    const stage = isLocal ? (fallback as Stage) : chain;
    const plan = planSettle(receipts, units, !shadow);
    if (!isLocal && !hasNoChanges(plan) && downReason(receipts) !== undefined) {
      // Nothing was done, so the decision can be settled again.
      returnReceipts(decision);
      return unsettledResult(plan);
    }
    const { additionalCharge, refunds, confirmations } = plan;
    const charged =
      additionalCharge.counters.length === 0
        ? undefined
        : await chargeCounters(
            stage,
            additionalCharge.counters,
            additionalCharge.units,
            additionalCharge.alreadyCharged,
            (missed, error) => {
              requireAway(error);
              return unreached(missed);
            },
          );
    const isGivenBack =
      refunds.length === 0 || (await isReached(stage, refunds.map(refundMutation)));
    // The store sets blocks, not a process that counts alone.
    const isKept =
      isLocal ||
      confirmations.length === 0 ||
      (await isReached(stage, confirmations.map(confirmMutation)));
    const result = settlementResult(plan, charged, isGivenBack, isKept);
    return isLocal ? { ...result, degraded: true } : result;
  }

  return {
    async charge<Units extends Cost = number>(
      subject: Subjects,
      options: ChargeOptions<Units> = {},
    ) {
      rejectUnknownOptions("charge", options, ["cost", "limits"]);
      const policy = policyOf(options.limits);
      const cost = readCharge(core, options.cost, policy);
      return (await chargeNamed(policy, subject, cost)) as ChargeResult<Units>;
    },

    async settle<Units extends Cost>(decision: Decision, units: Units, more?: unknown) {
      rejectExtraArgument("settle(decision, units)", more);
      const wanted = readUnits(core, units, settledOf(decision));
      requireSameForm(decision, wanted);
      return (await settle(decision, wanted)) as ChargeResult<Units>;
    },

    async refund(decision, more?: unknown) {
      rejectExtraArgument("refund(decision)", more);
      const receipts = takeReceipts(decision, counted);
      if (receipts[0]?.returnToLease?.() === true) return true;
      const charged = receipts.filter(({ cost }) => cost > 0).map(refundMutation);
      if (decision.source === "local") return applyMutations(fallback as Stage, charged);
      const down = downReason(receipts);
      if (down === undefined) return applyMutations(chain, charged);
      // Nothing was done, so the refund can be repeated.
      returnReceipts(decision);
      throw down;
    },

    async release(decision, more?: unknown) {
      rejectExtraArgument("release(decision)", more);
      return slotsOf(decision, counted)?.release() ?? false;
    },
  };
}

/** The result for units that no store received. */
function unreached(counters: readonly Counter[]): ChargeResult<Cost> {
  if (!hasCostsByName(counters)) return { ...NO_CHARGE, degraded: true };
  return { ...noChargeByName(counters.flatMap(({ limits }) => limits)), degraded: true };
}

function rethrow(_: unknown, error: unknown): never {
  throw error;
}
