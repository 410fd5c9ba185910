import type { Cost } from "../base/cost.ts";
import { HeadgateError } from "../base/errors.ts";
import { requireCost } from "../counting/costs.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import { limitsOfUnits } from "../counting/counted-policy.ts";
import type { LimiterCore } from "./limiter-core.ts";

/**
 * A cost, or one by the names of limits: of the limiter, and of the policy that the call brought. A name that only one of the two has
 * is left out under the other. Throws `HEADGATE_INVALID_COST`, `HEADGATE_INVALID_OPTION`.
 */
export function readCost(
  { counted, hasLease }: LimiterCore,
  cost: Cost = 1,
  policy: CountedPolicy = counted,
): Cost {
  const limits =
    policy.shape === undefined ? counted.limits : [...counted.limits, ...policy.limits];
  return withoutLease(hasLease, requireCost("cost", cost, limits));
}

/** The same of a charge, which asks for no place. Throws as `readCost`. */
export function readCharge(
  { counted, hasLease }: LimiterCore,
  cost: Cost = 1,
  policy: CountedPolicy = counted,
): Cost {
  const limits = policy.shape === undefined ? [policy] : [counted, policy];
  return withoutLease(hasLease, requireCost("cost", cost, limits.flatMap(limitsOfUnits)));
}

/** Units of a decision that is settled, from 0, or by the names of these limits. Throws as `readCost`. */
export function readUnits(
  { hasLease }: LimiterCore,
  units: Cost,
  limits: readonly { readonly name: string }[],
): Cost {
  return withoutLease(hasLease, requireCost("units", units, limits));
}

/** Of units that are taken ahead each is one of every limit. */
function withoutLease(hasLease: boolean, units: Cost): Cost {
  if (typeof units === "number" || !hasLease) return units;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    "units by name cannot be used with lease, which takes the same units of all limits; leave one of them out",
  );
}
