import type { Cost } from "../common/cost.ts";
import { invalidOption } from "../common/errors.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { chargeableLimits } from "../policy/compiled-policy.ts";
import { requireCost } from "../policy/costs.ts";
import type { LimiterCore } from "./limiter-core.ts";

/**
 * A cost as one number, or by the names of the limits of the call: those passed with it, or else the limiter's own. The cost of
 * an HTTP guard is configured apart from a request's limits, so it may also name the guard's own limits (`isGuard`); such a
 * name is ignored where the request's limits lack it. Throws `HEADGATE_INVALID_COST`, `HEADGATE_INVALID_OPTION`.
 */
export function readCost(
  { policy: counted, hasLease }: LimiterCore,
  cost: Cost = 1,
  policy: CompiledPolicy = counted,
  isGuard = false,
): Cost {
  const isOwn = policy.perCallKeyspace === undefined;
  const limits = isOwn
    ? counted.limits
    : isGuard
      ? [...counted.limits, ...policy.limits]
      : policy.limits;
  return rejectWithLease(hasLease, requireCost("cost", cost, limits));
}

/** The same for a charge, which takes no slot. Throws like `readCost`. */
export function readCharge(
  { policy: counted, hasLease }: LimiterCore,
  cost: Cost = 1,
  policy: CompiledPolicy = counted,
): Cost {
  return rejectWithLease(hasLease, requireCost("cost", cost, chargeableLimits(policy)));
}

/** The units for settling a decision, from 0, or by the names of these limits. Throws like `readCost`. */
export function readUnits(
  { hasLease }: LimiterCore,
  units: Cost,
  limits: readonly { readonly name: string }[],
): Cost {
  return rejectWithLease(hasLease, requireCost("units", units, limits));
}

/** Each leased unit counts for every limit, so a cost by name cannot be paid from a lease. */
function rejectWithLease(hasLease: boolean, units: Cost): Cost {
  if (typeof units === "number" || !hasLease) return units;
  throw invalidOption(
    "units by name cannot be used with lease, which takes the same units of all limits; leave one of them out",
  );
}
