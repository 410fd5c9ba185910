import type { Decision, Limit } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { randomPolicy, withOtherValues, withRandomBlocks } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart, randomSubjects } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { DeployedLimiter } from "../support/deployed-limiter.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

/** Limits in all dimensions, so that each policy may count by some of them. */
const DIMENSIONS = 3;

const dimensionOf = ({ per = "default" }: Limit) => per;

/** A policy that counts by dimensions of another one. */
function policyWithin(random: Random, base: readonly Limit[]): readonly Limit[] {
  const known = new Set(base.map(dimensionOf));
  for (;;) {
    const limits = randomPolicy(random, random.whole(1, 3), DIMENSIONS);
    if (limits.every((limit) => known.has(dimensionOf(limit)))) return limits;
  }
}

const byName = ({ limits }: Decision) =>
  JSON.stringify(
    [...limits].sort((a, b) => (`${a.per} ${a.name}` < `${b.per} ${b.name}` ? -1 : 1)),
  );

describeStores((tested) => {
  test("a call with a policy of any shape is decided as after a deploy of it", async () => {
    let shapes = 0;
    await tested.run(40, async (random) => {
      const time = new MicroClock(randomStart(random));
      const base = randomPolicy(random, random.whole(1, 3), random.whole(1, DIMENSIONS));
      const store = tested.open(time.clock);
      const limiter = createLimiter({ ...STORE_ALONE, name: "deployed", limits: base, store });
      const deployed = new DeployedLimiter(tested.open(time.clock), base);
      const others = Array.from({ length: 3 }, () => {
        const policy = policyWithin(random, base);
        return random.chance(0.3) ? withRandomBlocks(random, policy) : policy;
      });
      // Each policy also comes with other numbers, which continue with the counts of its shape.
      const policies = [base, ...others].flatMap((policy) => [
        policy,
        policy.map((limit) => withOtherValues(random, limit)),
      ]);
      const taken: (readonly [Decision, Decision, readonly Limit[]])[] = [];
      let last: Decision | undefined;
      for (let step = 0; step < 30; step += 1) {
        if (!time.advance(randomShortWait(random, last))) return;
        const limits = random.pick(policies);
        if (!policies.slice(0, 2).includes(limits)) shapes += 1;
        const subjects = randomSubjects(random, [...new Set(limits.map(dimensionOf))]);
        const cost = randomCost(random, last);
        const context = () => JSON.stringify({ base, limits, cost, step });
        const back = random.chance(0.15) ? taken.pop() : undefined;
        if (back !== undefined) {
          await deployed.deploy(back[2]);
          const given = await Promise.all([limiter.refund(back[0]), deployed.refund(back[1])]);
          claim(given[0] === given[1], context);
        }
        await deployed.deploy(limits);
        const charges = random.chance(0.8);
        const options = { limits: random.shuffle(limits), cost };
        const [ours, theirs] = await Promise.all([
          charges ? limiter.consume(subjects, options) : limiter.peek(subjects, options),
          charges ? deployed.consume(subjects, cost) : deployed.peek(subjects, cost),
        ]);
        claim(byName(ours) === byName(theirs), context);
        claim(ours.allowed === theirs.allowed && ours.blocked === theirs.blocked, context);
        if (charges && ours.allowed) taken.push([ours, theirs, limits]);
        last = ours;
      }
    });
    expect(shapes).toBeGreaterThan(50);
  });
});
