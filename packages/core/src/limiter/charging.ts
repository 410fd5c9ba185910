import type { Charged } from "../charged.ts";
import { NOTHING_CHARGED, nothingCharged } from "../charged.ts";
import type { Cost } from "../cost.ts";
import type { Decision } from "../decision.ts";
import { rejectMore, rejectUnknownOptions } from "../options.ts";
import { askedOf, askedUnits, requireFormOf } from "./costs.ts";
import { placesOf } from "./counted-decision.ts";
import { limitsOfUnits } from "./counted-policy.ts";
import type { Subjects } from "./counters.ts";
import { countersOf, unitsOnly } from "./counters.ts";
import type { CostOptions, Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";
import { readCost, readUnits } from "./read-cost.ts";

/** How a limiter charges without asking, and gives back. */
export function createCharging(
  core: LimiterCore,
): Pick<Limiter, "charge" | "settle" | "refund" | "release"> {
  const { counted, decider, overrides } = core;
  const chargeable = limitsOfUnits(counted);

  async function chargeAll(subject: Subjects, cost: Cost): Promise<Charged<Cost>> {
    const named = unitsOnly(countersOf(counted, subject));
    // If there is nothing to wait for it goes at once, so that calls keep their order.
    const refreshed = overrides?.refresh();
    if (refreshed !== undefined) await refreshed;
    const counters = overrides?.apply(named) ?? named;
    const units = askedUnits(counters, cost);
    // Nothing is charged if only places are counted.
    if (counters.length > 0 && units.cost > 0) {
      return decider.charge(askedOf(units.counters), units.cost);
    }
    return typeof cost === "number" ? NOTHING_CHARGED : nothingCharged(chargeable);
  }

  return {
    async charge<Units extends Cost = number>(subject: Subjects, options: CostOptions<Units> = {}) {
      rejectUnknownOptions("charge", options, ["cost"]);
      const cost = readCost(core, options.cost, chargeable);
      return (await chargeAll(subject, cost)) as Charged<Units>;
    },

    async settle<Units extends Cost>(decision: Decision, units: Units, more?: unknown) {
      rejectMore("settle(decision, units)", more);
      const wanted = readUnits(core, units, chargeable);
      requireFormOf(decision, wanted);
      return (await decider.settle(decision, wanted)) as Charged<Units>;
    },

    async refund(decision, more?: unknown) {
      rejectMore("refund(decision)", more);
      return decider.giveBack(decision);
    },

    async release(decision, more?: unknown) {
      rejectMore("release(decision)", more);
      return placesOf(decision, counted)?.release() ?? false;
    },
  };
}
