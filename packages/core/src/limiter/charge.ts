import type { ChargeResult, Cost } from "../common/cost.ts";
import { NO_CHARGE, noChargeByName } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import { isConcurrencyLimit } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import { rejectExtraArgument, rejectUnknownOptions } from "../common/options.ts";
import type { LimitDescription } from "../common/policy.ts";
import { requireUndelivered } from "../health/store-failure.ts";
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
import type { ConsumeMethods } from "./consume.ts";
import { readSubject, readUnits } from "./consume.ts";
import type { ChargeOptions, Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-internals.ts";

/** The methods of a limiter that charge without a decision, settle, refund and release. */
export function createChargeMethods(
  core: LimiterCore,
  { policyOf, countersOf }: Pick<ConsumeMethods, "policyOf" | "countersOf">,
): Pick<Limiter, "charge" | "settle" | "refund" | "release"> {
  const { policy, perCallPolicies, pipeline, fallback, monitor, control } = core;
  const chargeable = chargeableLimits(policy);

  /** Returns if the store did not receive a call; throws every other error. */
  function rethrowUnlessUndelivered(error: unknown): void {
    if (monitor === undefined) throw error;
    requireUndelivered(error, monitor.log);
  }

  /** Charges in this process if the store did not receive the charge and `onUnavailable` is `"local"`. */
  async function chargeLocally(
    missed: readonly Counter[],
    cost: number,
    error: unknown,
  ): Promise<ChargeResult<Cost>> {
    rethrowUnlessUndelivered(error);
    if (fallback?.onUnavailable !== "local") return undeliveredCharge(missed);
    const own = (missed as readonly SubjectCounter[]).map(fallback.localShareOf);
    const charged = await chargeCounters(fallback, own, cost, 0, (_, failure) => {
      throw failure;
    });
    return { ...charged, degraded: true };
  }

  async function chargeSubject(
    policy: CompiledPolicy,
    subject: Subjects,
    cost: Cost,
  ): Promise<ChargeResult<Cost>> {
    const named = unitCountersOf(countersOf(policy, subject));
    // Awaiting only if there is something to read keeps calls in their order.
    const refreshed = control?.refresh();
    if (refreshed !== undefined) await refreshed;
    const units = assignCosts(control?.override(named, policy) ?? named, cost);
    if (units.counters.length === 0 || units.cost === 0) {
      return typeof cost === "number" ? NO_CHARGE : noChargeByName(chargeableLimits(policy));
    }
    return chargeCounters(
      pipeline,
      includedCounters(units.counters),
      units.cost,
      0,
      (missed, error) => chargeLocally(missed, units.cost, error),
    );
  }

  /** Why a server of these charges is down; undefined if none is known to be. */
  function downReason(receipts: readonly Receipt[]): HeadgateError | undefined {
    for (const { counters } of receipts) {
      for (const { key } of counters) {
        const reason = monitor?.downReason(key);
        if (reason !== undefined) return reason;
      }
    }
    return undefined;
  }

  /** Applies changes. Resolves with whether the store received all of them. */
  async function isApplied<Call>(
    stage: Stage,
    changes: readonly Mutation<Call, boolean>[],
  ): Promise<boolean> {
    try {
      await applyMutations(stage, changes);
      return true;
    } catch (error) {
      rethrowUnlessUndelivered(error);
      return false;
    }
  }

  /** The limits by whose names a decision can be settled: the limiter's own, and those of a policy passed with the call. */
  function limitsToSettle(decision: Decision): readonly Pick<LimitDescription, "name">[] {
    if (!perCallPolicies.isUsed) return chargeable;
    const decided = allLimitsOf(decision) ?? decision?.limits ?? [];
    return [...chargeable, ...decided.filter((limit) => !isConcurrencyLimit(limit))];
  }

  async function settle(decision: Decision, units: Cost): Promise<ChargeResult<Cost>> {
    const receipts = takeReceipts(decision, policy);
    const { source, shadow } = decision;
    const nothing =
      typeof units === "number" ? NO_CHARGE : noChargeByName(limitsToSettle(decision));
    // With `onUnavailable: "allow"` nothing was counted.
    if (source === "allow") return { ...nothing, degraded: true };
    if (receipts.length === 0) return nothing;
    const isLocal = source === "local";
    const stage = isLocal ? (fallback as Stage) : pipeline;
    const plan = planSettle(receipts, units, !shadow);
    if (!isLocal && !hasNoChanges(plan) && downReason(receipts) !== undefined) {
      // Nothing was sent, so the decision can be settled again.
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
              rethrowUnlessUndelivered(error);
              return undeliveredCharge(missed);
            },
          );
    const isRefunded =
      refunds.length === 0 || (await isApplied(stage, refunds.map(refundMutation)));
    // Only the store sets blocks; a process that counts locally does not.
    const isConfirmed =
      isLocal ||
      confirmations.length === 0 ||
      (await isApplied(stage, confirmations.map(confirmMutation)));
    const result = settlementResult(plan, charged, isRefunded, isConfirmed);
    return isLocal ? { ...result, degraded: true } : result;
  }

  return {
    async charge<Units extends Cost = number>(
      subject: Subjects,
      options: ChargeOptions<Units> = {},
    ) {
      rejectUnknownOptions("charge", options, ["cost", "limits", "ignoreUnknownDimensions"]);
      const known = readSubject(core.policy, subject, options);
      const policy = policyOf(options.limits);
      const { cost: given = 1 } = options;
      const cost = readUnits(core, "cost", given, chargeableLimits(policy));
      return (await chargeSubject(policy, known, cost)) as ChargeResult<Units>;
    },

    async settle<Units extends Cost>(decision: Decision, units: Units, more?: unknown) {
      rejectExtraArgument("settle(decision, units)", more);
      const wanted = readUnits(core, "units", units, limitsToSettle(decision));
      requireSameForm(decision, wanted);
      return (await settle(decision, wanted)) as ChargeResult<Units>;
    },

    async refund(decision, more?: unknown) {
      rejectExtraArgument("refund(decision)", more);
      const receipts = takeReceipts(decision, policy);
      if (receipts[0]?.returnToLease?.() === true) return true;
      const charged = receipts.filter(({ cost }) => cost > 0).map(refundMutation);
      if (decision.source === "local") return applyMutations(fallback as Stage, charged);
      const down = downReason(receipts);
      if (down === undefined) return applyMutations(pipeline, charged);
      // Nothing was sent, so the refund can be repeated.
      returnReceipts(decision);
      throw down;
    },

    async release(decision, more?: unknown) {
      rejectExtraArgument("release(decision)", more);
      return slotsOf(decision, policy)?.release() ?? false;
    },
  };
}

function undeliveredCharge(counters: readonly Counter[]): ChargeResult<Cost> {
  if (!hasCostsByName(counters)) return { ...NO_CHARGE, degraded: true };
  return { ...noChargeByName(counters.flatMap(({ limits }) => limits)), degraded: true };
}
