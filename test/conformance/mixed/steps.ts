import type { Decision, LimitState } from "@headgate/core";
import { isConcurrencyState } from "../oracle/slots.ts";
import { randomCharge, randomCost } from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { claimInRange } from "../support/claim-in-range.ts";
import { chargeByName, consumeByName } from "./cost-by-name-steps.ts";
import { SLOT_STEPS } from "./slot-steps.ts";
import type { MixedStep } from "./step.ts";
import type { Admitted, MixedWorld, Request, Tier } from "./world.ts";
import { claimUnchanged, unitsLeftIn } from "./world.ts";

/** The longest reported time: 285 years. */
const LONGEST_MS = 9_007_199_254_740;

/** A peek predicts the decision, an admission charges its cost, and a denial changes nothing. */
const consume: MixedStep = {
  name: "consume",
  weight: 10,
  async run(world, tier) {
    const { random, features } = world;
    const request = world.randomRequest(tier);
    const inThisProcess = random.chance(0.75);
    const limiter = inThisProcess
      ? random.chance(0.7)
        ? tier.enforcing
        : tier.shadow
      : tier.otherProcess;
    const before = await world.peekState(tier, request);
    const peeked = await tier.otherProcess.peek(request.subjects, request.options);
    const decision = await limiter.consume(request.subjects, request.options);
    const explain = () =>
      `${JSON.stringify({ request, peeked, decision })} ${world.describe(tier)}`;
    if (!features.leases) {
      if (decision.source === "deny-cache")
        claimCachedDenial(decision, peeked, world.isDenyCacheExact(tier), explain);
      else claimMatchesPeek(decision, peeked, explain);
      const after = await world.peekState(tier, request);
      if (!decision.wouldAllow) claimUnchanged(before, after, explain);
      const used = decision.wouldAllow ? Number(decision.cost) : 0;
      claimUsed(before, after, used, explain, decision.wouldAllow ? 1 : 0);
    }
    await world.record(tier, request, decision, inThisProcess);
    return true;
  },
};

/** A peek changes nothing. */
const peek: MixedStep = {
  name: "peek",
  weight: 2,
  isLeftOut: ({ leases }) => leases,
  async run(world, tier) {
    const request = world.randomRequest(tier);
    const before = await world.peekState(tier, request);
    const limiter = world.random.pick([tier.enforcing, tier.shadow, tier.otherProcess]);
    const peeked = await limiter.peek(request.subjects, request.options);
    claimInRange(peeked);
    claimUnchanged(before, await world.peekState(tier, request), () => world.describe(tier));
    return true;
  },
};

/** Requests that are in flight at once charge the sum of the admitted costs. */
const batch: MixedStep = {
  name: "batch",
  weight: 3,
  async run(world, tier) {
    const { random } = world;
    const { subjects, options } = world.randomRequest(tier);
    const request = { subjects, options: { ...options, cost: 1 } };
    const before = await world.peekState(tier, request);
    const allInThisProcess = random.chance(0.7);
    const inFlight = Array.from({ length: random.whole(2, 12) }, () => {
      const inThisProcess = world.features.races ? random.chance(0.7) : allInThisProcess;
      const limiter = inThisProcess
        ? random.pick([tier.enforcing, tier.shadow])
        : tier.otherProcess;
      const cost = random.chance(0.6) ? 1 : randomCost(random, tier.last);
      return { inThisProcess, decision: limiter.consume(subjects, { ...options, cost }) };
    });
    let used = 0;
    let slotsTaken = 0;
    for (const { inThisProcess, decision: pending } of inFlight) {
      const decision = await pending;
      if (decision.wouldAllow) {
        used += Number(decision.cost);
        slotsTaken += 1;
      }
      await world.record(tier, request, decision, inThisProcess);
    }
    if (world.features.leases) return true;
    const after = await world.peekState(tier, request);
    const explain = () => `${used} in flight, ${world.describe(tier)}`;
    claimUsed(before, after, used, explain, slotsTaken);
    return true;
  },
};

/** A charge adds its units to each limit, and no limit denies it. */
const charge: MixedStep = {
  name: "charge",
  weight: 2,
  async run(world, tier) {
    const { random } = world;
    const subjects = world.randomSubjectsOf(tier);
    const request: Request = { subjects, options: { cost: 1 } };
    const before = await world.peekState(tier, request);
    const cost = random.chance(0.7) ? random.whole(1, 10) : randomCharge(random, tier.last);
    const limiter = random.pick([tier.enforcing, tier.shadow, tier.otherProcess]);
    if (limiter === tier.otherProcess) tier.otherProcessChargedAt = world.time.now;
    const { charged, overflow, degraded } = await limiter.charge(subjects, { cost });
    const explain = () => `${cost} charged, ${charged} and ${overflow}, ${world.describe(tier)}`;
    claim(charged + overflow === cost && !degraded, explain);
    await tier.reference?.charge(subjects, { cost });
    if (overflow > 0) tier.reference = undefined;
    if (world.features.leases || overflow > 0) return true;
    claimUsed(before, await world.peekState(tier, request), cost, explain);
    return true;
  },
};

/** A settle corrects the cost of a decision, refunds no more than the difference, and works once. */
const settle: MixedStep = {
  name: "settle",
  weight: 3,
  async run(world, tier) {
    const one = takeAdmitted(world, tier);
    if (one === undefined) return false;
    const { decision, request, units } = one;
    const cost = Number(decision.cost);
    const before = await world.peekState(tier, request);
    const settled = await tier.enforcing.settle(decision, units);
    const explain = () =>
      `${cost} settled at ${units}: ${JSON.stringify(settled)}, ${world.describe(tier)}`;
    claim(settled.charged + settled.overflow === units && !settled.degraded, explain);
    if (settled.overflow > 0) tier.reference = undefined;
    if (units < cost) tier.ledger.reduce(decision, units);
    const after = await world.peekState(tier, request);
    if (!world.features.leases && settled.overflow === 0) {
      if (units >= cost) claimUsed(before, after, units - cost, explain);
      else claimRefunded(before, after, cost - units, explain);
    }
    await claimSettledOnce(world, tier, one, after);
    return true;
  },
};

/** A refund returns at most the charge, only within the generation of the charge, and works once. */
const refund: MixedStep = {
  name: "refund",
  weight: 3,
  // The reference is charged the real costs, which a refund would contradict.
  isLeftOut: ({ reference }) => reference,
  async run(world, tier) {
    const one = takeAdmitted(world, tier);
    if (one === undefined) return false;
    const { decision, request } = one;
    const before = await world.peekState(tier, request);
    const isRefunded = await tier.enforcing.refund(decision);
    const after = await world.peekState(tier, request);
    const explain = () => `${decision.cost} refunded: ${isRefunded}, ${world.describe(tier)}`;
    claim(!isRefunded || decision.source === "lease" || !tier.ledger.wasReset(decision), explain);
    if (isRefunded) tier.ledger.reduce(decision, 0);
    if (!world.features.leases) {
      claimRefunded(before, after, isRefunded ? Number(decision.cost) : 0, explain);
    }
    await claimSettledOnce(world, tier, one, after);
    return true;
  },
};

/** A reset makes the given subjects unused, and changes no other subject. */
const reset: MixedStep = {
  name: "reset",
  weight: 1,
  async run(world, tier) {
    const { random } = world;
    const all = world.randomSubjectsOf(tier);
    const chosen = Object.entries(all).filter(() => random.chance(0.7));
    const subjects = Object.fromEntries(chosen.length > 0 ? chosen : Object.entries(all));
    const request: Request = { subjects: all, options: { cost: 1 } };
    const before = await world.peekState(tier, request);
    await tier.enforcing.reset(subjects);
    await tier.reference?.reset(subjects);
    tier.ledger.reset(subjects);
    if (world.features.leases) return true;
    const after = await world.peekState(tier, request);
    after.limits.forEach((state, i) => {
      const { per, limit, remaining, resetAfterMs } = state;
      const isForgotten = remaining === limit && resetAfterMs === 0;
      const isSame = JSON.stringify(state) === JSON.stringify(before.limits[i]);
      claim(
        per in subjects && !isConcurrencyState(state) ? isForgotten : isSame,
        () => `reset: ${JSON.stringify(state)}`,
      );
    });
    return true;
  },
};

/** A manual block denies everything in each process; its end restores the state. */
const block: MixedStep = {
  name: "block",
  weight: 1,
  isLeftOut: ({ leases }) => leases,
  async run(world, tier) {
    const { random } = world;
    // Other limits would let time pass differently, so this request brings none.
    const request: Request = { subjects: world.randomSubjectsOf(tier), options: { cost: 1 } };
    const before = await world.peekState(tier, request);
    const limiter = random.pick([tier.enforcing, tier.shadow]);
    await limiter.block(request.subjects, random.pick(["1ms", "1m", "366d"]));
    for (const limiter of [tier.enforcing, tier.otherProcess]) {
      const denied = await limiter.consume(request.subjects, request.options);
      const explain = () => `${JSON.stringify({ request, denied })} ${world.describe(tier)}`;
      claim(!denied.allowed && denied.blocked && denied.retryAfterMs > 0, explain);
    }
    claim(await limiter.unblock(request.subjects), () => `no block, ${world.describe(tier)}`);
    claimUnchanged(before, await world.peekState(tier, request), () => world.describe(tier));
    return true;
  },
};

/** A step of one tier does not change another tier. */
const otherTier: MixedStep = {
  name: "other tier",
  weight: 1,
  isLeftOut: ({ leases }) => leases,
  async run(world, tier) {
    const other = world.tiers.find((one) => one !== tier) as Tier;
    const request: Request = { subjects: world.randomSubjectsOf(other), options: { cost: 1 } };
    const before = await world.peekState(other, request);
    await batch.run(world, tier);
    await charge.run(world, tier);
    claimUnchanged(before, await world.peekState(other, request), () => world.describe(other));
    return true;
  },
};

/** A denied request is admitted after the reported wait and not a millisecond earlier, even if the limit is overdrawn. */
const wait: MixedStep = {
  name: "wait",
  weight: 2,
  isLeftOut: ({ leases }) => leases,
  async run(world, tier) {
    const { random } = world;
    const subjects = world.randomSubjectsOf(tier);
    const peeked = await world.peekState(tier, { subjects, options: { cost: 1 } });
    const { remaining, limit } = random.pick(
      peeked.limits.filter((one) => !isConcurrencyState(one)),
    );
    const cost = Math.max(1, Math.min(limit, remaining + random.pick([1, 1, 2, limit])));
    const request: Request = { subjects, options: { cost } };
    const denied = await tier.enforcing.consume(subjects, { cost });
    await world.record(tier, request, denied, true);
    // A cached denial does not reflect later charges by other processes.
    const { retryAfterMs, allowed, limits } =
      denied.source === "deny-cache" ? await tier.otherProcess.peek(subjects, { cost }) : denied;
    if (allowed || !Number.isFinite(retryAfterMs)) return false;
    // The time of the next release is unknown.
    if (limits.some((state) => isConcurrencyState(state) && !state.allowed)) return false;
    const explain = () => `${JSON.stringify(denied)}, ${world.describe(tier)}`;
    if (!(await world.advance(BigInt(retryAfterMs - 1) * 1_000n))) return false;
    const early = [
      await tier.otherProcess.peek(subjects, { cost }),
      await tier.enforcing.consume(subjects, { cost }),
    ];
    for (const decision of early) claim(!decision.allowed, () => `1 ms early, ${explain()}`);
    await world.advance(1_000n);
    const admitted = await tier.enforcing.consume(subjects, { cost });
    claim(admitted.allowed, () => `in time, ${explain()}`);
    await world.record(tier, request, admitted, true);
    return true;
  },
};

/** A clock that steps back prolongs no wait. */
const stepBack: MixedStep = {
  name: "step back",
  weight: 0.5,
  isLeftOut: ({ stepsBack }) => !stepsBack,
  async run(world, tier) {
    const { random, time } = world;
    const request: Request = { subjects: world.randomSubjectsOf(tier), options: { cost: 1 } };
    // Only a write tells the store the time.
    await charge.run(world, tier);
    await tier.enforcing.charge(request.subjects);
    const before = await tier.otherProcess.peek(request.subjects);
    world.stepBack(BigInt(random.magnitude(1, Number(time.now / 2n) + 1)));
    const after = await tier.otherProcess.peek(request.subjects);
    claim(
      after.retryAfterMs <= before.retryAfterMs,
      () => `${JSON.stringify({ before, after })}, ${world.describe(tier)}`,
    );
    return true;
  },
};

/** All kinds of steps. */
export const MIXED_STEPS: readonly MixedStep[] = [
  consume,
  peek,
  batch,
  charge,
  consumeByName,
  chargeByName,
  settle,
  refund,
  reset,
  block,
  otherTier,
  wait,
  stepBack,
  ...SLOT_STEPS,
];

function takeAdmitted({ random }: MixedWorld, { admitted }: Tier) {
  if (admitted.length === 0) return undefined;
  const recent = Math.max(0, admitted.length - 20);
  return admitted.splice(random.whole(recent, admitted.length - 1), 1)[0];
}

/** Fails if a settled or refunded decision can be settled or refunded again. */
async function claimSettledOnce(
  world: MixedWorld,
  tier: Tier,
  { decision, request }: Admitted,
  before: Decision,
): Promise<void> {
  if (world.features.leases || !world.random.chance(0.3)) return;
  const { charged } = await tier.enforcing.settle(decision, Number(decision.cost) + 5);
  const isRefunded = await tier.enforcing.refund(decision);
  claim(charged === 0 && !isRefunded, () => `again ${charged} and ${isRefunded}`);
  claimUnchanged(before, await world.peekState(tier, request), () => "settled again");
}

/** Fails unless the decision matches the peek before it. */
function claimMatchesPeek(decision: Decision, peeked: Decision, explain: () => string): void {
  const { allowed, retryAfterMs, wouldAllow, shadow } = decision;
  claimSame({ ...peeked, allowed, retryAfterMs, shadow }, decision, explain);
  claim(peeked.allowed === wouldAllow, explain);
  if (!shadow) claim(peeked.retryAfterMs === retryAfterMs, explain);
}

/** Fails unless a cached denial is right; a charge by another process may only prolong the real wait. */
function claimCachedDenial(
  decision: Decision,
  peeked: Decision,
  knowsAll: boolean,
  explain: () => string,
): void {
  claim(!decision.wouldAllow && !peeked.allowed, explain);
  // The cache may not know the limits of subjects that were not denied.
  for (const { name, retryAfterMs, remaining } of decision.limits.filter(
    (one) => !isConcurrencyState(one),
  )) {
    const expected = peeked.limits.find((state) => state.name === name) as LimitState;
    // The longest reported time stands for all longer times.
    const isExact = knowsAll && expected.retryAfterMs < LONGEST_MS;
    claim(retryAfterMs <= expected.retryAfterMs, explain);
    claim(!isExact || retryAfterMs === expected.retryAfterMs, explain);
    // A cached denial reports the units left at the denial, without later refills.
    claim(!knowsAll || remaining <= expected.remaining, explain);
  }
}

/** Fails unless each limit lost exactly these units, or slots, between two peeks at one time. */
function claimUsed(
  before: Decision,
  after: Decision,
  units: number,
  explain: () => string,
  slots = 0,
): void {
  const left = unitsLeftIn(after);
  unitsLeftIn(before).forEach((had, i) => {
    const used = isConcurrencyState(before.limits[i] as LimitState) ? slots : units;
    claim(had - used === left[i], () => `${had} less ${used} is not ${left[i]}: ${explain()}`);
  });
}

/** Fails if a limit lost units, or regained more than `units`, between two peeks at one time. */
function claimRefunded(
  before: Decision,
  after: Decision,
  units: number,
  explain: () => string,
): void {
  const left = unitsLeftIn(after);
  unitsLeftIn(before).forEach((had, i) => {
    const given = (left[i] as number) - had;
    claim(given >= 0 && given <= units, () => `${given} of ${units} back: ${explain()}`);
  });
}
