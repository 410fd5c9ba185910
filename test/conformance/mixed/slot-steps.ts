import { once } from "node:events";
import type { Decision } from "@headgate/core";
import { microsecondsOf } from "../oracle/definition.ts";
import { claim } from "../support/claim.ts";
import type { MixedStep } from "./step.ts";
import type { Request, Tier } from "./world.ts";
import { isConcurrency } from "./world.ts";

const isLeftOut: MixedStep["isLeftOut"] = ({ slots }) => !slots;

/** Slots are released once, and only by their holder. */
const release: MixedStep = {
  name: "release",
  weight: 6,
  isLeftOut,
  async run(world, tier) {
    const { random, time } = world;
    if (tier.holdings.length === 0) return false;
    const recent = Math.max(0, tier.holdings.length - 8);
    const at = random.whole(recent, tier.holdings.length - 1);
    const [holding] = tier.holdings.splice(at, 1);
    const { decision, inThisProcess, slots } = holding as Tier["holdings"][number];
    const limiter = inThisProcess ? tier.enforcing : tier.otherProcess;
    const wasHeld = slots.some((each) => each.isHeld(decision, time.now));
    const isReleased = await limiter.release(decision);
    for (const each of slots) each.release(decision);
    claim(isReleased === wasHeld, () => `releases ${isReleased}, ${world.describe(tier)}`);
    const again = await limiter.release(decision);
    claim(!again, () => `releases twice, ${world.describe(tier)}`);
    return true;
  },
};

/** A slot that is not released in time expires, and aborts the signal of its holder. */
const lapse: MixedStep = {
  name: "lapse",
  weight: 0.5,
  isLeftOut,
  async run(world, tier) {
    const ttl = ttlOf(tier);
    const request: Request = { subjects: world.randomSubjectsOf(tier), options: { cost: 1 } };
    const decision = await tier.enforcing.consume(request.subjects, request.options);
    await world.record(tier, request, decision, true);
    const { signal } = decision;
    const explain = () => `${JSON.stringify(decision)}, ${world.describe(tier)}`;
    claim((signal === undefined) === !decision.allowed && !signal?.aborted, explain);
    if (!(await world.advance(ttl - 1n))) return false;
    await world.claimSlots(tier);
    await world.advance(1n);
    // Timers follow the real clock, so only short ones are awaited.
    if (signal !== undefined && ttl <= 20_000n) {
      if (!signal.aborted) await once(signal, "abort");
      claim(signal.reason.code === "HEADGATE_SLOT_LOST", explain);
    }
    claim(!(await tier.enforcing.release(decision)), explain);
    return true;
  },
};

/** Work holds a slot exactly while it runs, and does not run without one. */
const run: MixedStep = {
  name: "run",
  weight: 3,
  isLeftOut,
  async run(world, tier) {
    const { random } = world;
    const request: Request = { subjects: world.randomSubjectsOf(tier), options: { cost: 1 } };
    const limiter = random.pick([tier.enforcing, tier.otherProcess]);
    const peeked = await tier.otherProcess.peek(request.subjects);
    let ran: Decision | undefined;
    const work = async ({ signal, decision }: { signal: AbortSignal; decision: Decision }) => {
      ran = decision;
      await world.record(tier, request, decision, limiter === tier.enforcing);
      await world.claimSlots(tier);
      claim(!signal.aborted, () => `lost at once, ${world.describe(tier)}`);
      if (random.chance(0.2)) throw new Error("work fails");
    };
    const code = await limiter.run(request.subjects, work, { timeout: 0 }).then(
      () => undefined,
      (error) => {
        if (error.message !== "work fails" && error.code === undefined) throw error;
        return error.code;
      },
    );
    const explain = () => `${code}: ${JSON.stringify({ peeked, ran })}, ${world.describe(tier)}`;
    claim((ran === undefined) === (code === "HEADGATE_DENIED"), explain);
    claim((ran !== undefined) === peeked.allowed, explain);
    if (ran === undefined) return true;
    const holding = tier.holdings.pop();
    for (const slots of holding?.slots ?? []) slots.release(ran);
    await world.claimSlots(tier);
    return true;
  },
};

/** All kinds of steps that concern slots. */
export const SLOT_STEPS: readonly MixedStep[] = [release, lapse, run];

function ttlOf({ limits }: Tier): bigint {
  const [limit] = limits.filter(isConcurrency);
  if (limit === undefined) throw new Error("this world has no concurrency limit");
  return microsecondsOf(limit.ttl);
}
