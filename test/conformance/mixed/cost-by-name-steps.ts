import type { CostByName, Decision } from "@headgate/core";
import { nameOf } from "../oracle/definition.ts";
import { randomChargeByName, randomCostByName, randomUnitsByName } from "../random/costs.ts";
import { claim } from "../support/claim.ts";
import { claimInRange } from "../support/claim-in-range.ts";
import type { MixedStep } from "./step.ts";
import type { MixedWorld, Request, Tier } from "./world.ts";
import { claimUnchanged, isConcurrency, unitLimitsOf, unitsLeftIn } from "./world.ts";

/** A cost by name charges each limit its own units or denies, and a settle corrects each of them. */
export const consumeByName: MixedStep = {
  name: "consume by name",
  weight: 2,
  isLeftOut: ({ leases }) => leases,
  async run(world, tier) {
    const { random } = world;
    const subjects = world.randomSubjectsOf(tier);
    const limiter = random.pick([tier.enforcing, tier.otherProcess]);
    const cost = withSlotCosts(world, tier, randomCostByName(random, tier.limits, tier.last));
    const before = await peekState(world, tier, subjects);
    const decision = await limiter.consume(subjects, { cost });
    const explain = () => `${JSON.stringify({ cost, decision })} ${world.describe(tier)}`;
    claimInRange(decision, explain);
    const after = await peekState(world, tier, subjects);
    if (!decision.allowed) {
      claimUnchanged(before, after, explain);
      return true;
    }
    if (limiter === tier.otherProcess) tier.otherProcessChargedAt = world.time.now;
    claimUsedEach(before, after, unitsOf(tier, cost), explain);

    const settled = random.chance(0.5)
      ? randomUnitsByName(random, unitLimitsOf(tier), decision)
      : {};
    const { overflow, degraded } = await limiter.settle(decision, settled);
    const isOver = Object.values(overflow).some((units) => units > 0);
    claim(!degraded, explain);
    const real = { ...allUnits(tier, cost), ...settled };
    if (isOver) tier.reference = undefined;
    else claimSettled(after, await peekState(world, tier, subjects), { tier, cost, real }, explain);
    await world.recordByName(tier, {
      subjects,
      decision,
      real,
      inThisProcess: limiter !== tier.otherProcess,
    });
    return true;
  },
};

/** A charge by name charges each limit its own units, and no limit denies it. */
export const chargeByName: MixedStep = {
  name: "charge by name",
  weight: 1,
  isLeftOut: ({ leases }) => leases,
  async run(world, tier) {
    const { random } = world;
    const subjects = world.randomSubjectsOf(tier);
    const limiter = random.pick([tier.enforcing, tier.shadow, tier.otherProcess]);
    if (limiter === tier.otherProcess) tier.otherProcessChargedAt = world.time.now;
    const cost = randomChargeByName(random, unitLimitsOf(tier), tier.last);
    const before = await peekState(world, tier, subjects);
    const { charged, overflow, degraded } = await limiter.charge(subjects, { cost });
    const explain = () => `${JSON.stringify({ cost, charged, overflow })} ${world.describe(tier)}`;
    await tier.reference?.charge(subjects, { cost });
    const isOver = Object.values(overflow).some((units) => units > 0);
    claim(!degraded, explain);
    if (isOver) tier.reference = undefined;
    else
      claimUsedEach(before, await peekState(world, tier, subjects), chargedOf(tier, cost), explain);
    return true;
  },
};

function peekState(
  world: MixedWorld,
  tier: Tier,
  subjects: Request["subjects"],
): Promise<Decision> {
  return world.peekState(tier, { subjects, options: { cost: 1 } });
}

/** The units of each limit by name; a limit that is not named costs 1. */
function allUnits({ limits }: Tier, cost: CostByName): Record<string, number> {
  return Object.fromEntries(limits.map((limit) => [nameOf(limit), cost[nameOf(limit)] ?? 1]));
}

function unitsOf(tier: Tier, cost: CostByName): number[] {
  return Object.values(allUnits(tier, cost));
}

/** The same for a charge, which takes no slots. */
function chargedOf(tier: Tier, cost: CostByName): number[] {
  const slotCosts = tier.limits.filter(isConcurrency).map((limit) => [nameOf(limit), 0] as const);
  return unitsOf(tier, { ...cost, ...Object.fromEntries(slotCosts) });
}

/** A cost with one or two slots of each named concurrency limit, since these limits are small. */
function withSlotCosts({ random }: MixedWorld, { limits }: Tier, cost: CostByName): CostByName {
  const concurrencyLimits = limits.filter((limit) => isConcurrency(limit) && nameOf(limit) in cost);
  const slotCosts = concurrencyLimits.map((limit) => [nameOf(limit), random.whole(1, 2)] as const);
  return { ...cost, ...Object.fromEntries(slotCosts) };
}

function claimUsedEach(
  before: Decision,
  after: Decision,
  units: readonly number[],
  explain: () => string,
): void {
  const left = unitsLeftIn(after);
  unitsLeftIn(before).forEach((had, i) => {
    claim(had - (units[i] as number) === left[i], () => `${had} became ${left[i]}: ${explain()}`);
  });
}

/** A higher real cost is charged exactly; a lower one refunds at most the difference. */
function claimSettled(
  before: Decision,
  after: Decision,
  {
    tier,
    cost,
    real,
  }: { readonly tier: Tier; readonly cost: CostByName; readonly real: CostByName },
  explain: () => string,
): void {
  const left = unitsLeftIn(after);
  unitsLeftIn(before).forEach((had, i) => {
    const name = nameOf(tier.limits[i] as Tier["limits"][number]);
    const less = (cost[name] ?? 1) - (real[name] as number);
    const given = (left[i] as number) - had;
    const isTrue = less <= 0 ? given === less : given >= 0 && given <= less;
    claim(isTrue, () => `${name}: ${given} of ${less} back, ${explain()}`);
  });
}
