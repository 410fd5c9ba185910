import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Cost } from "../base/cost.ts";
import { HeadgateError } from "../base/errors.ts";
import { requireCost, requireUnits, requireUnitsByName } from "../counting/costs.ts";
import type { LimiterCore } from "./limiter-core.ts";

/** A cost, or one by the names of these limits. Throws `HEADGATE_INVALID_COST`, `HEADGATE_INVALID_OPTION`. */
export function readCost(
  { counted, hasLease }: LimiterCore,
  cost: Cost = 1,
  limits: readonly CompiledLimit[] = counted.limits,
): Cost {
  return withoutLease(hasLease, requireCost("cost", cost, limits));
}

/** Units of a decision that is settled, from 0, or by the names of these limits. Throws as `readCost`. */
export function readUnits(
  { hasLease }: LimiterCore,
  units: Cost,
  limits: readonly CompiledLimit[],
): Cost {
  return withoutLease(
    hasLease,
    typeof units === "object" && units !== null
      ? requireUnitsByName("units", units, limits)
      : requireUnits("units", units),
  );
}

/** Of units that are taken ahead each is one of every limit. */
function withoutLease(hasLease: boolean, units: Cost): Cost {
  if (typeof units === "number" || !hasLease) return units;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    "units by name cannot be used with lease, which takes the same units of all limits; leave one of them out",
  );
}
