import type { Decision, Limit } from "@headgate/core";
import { expect, test } from "vitest";
import { Oracle } from "../oracle/oracle.ts";
import { KINDS, randomLimit, randomPolicy, withOtherNumbers } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart, randomWait } from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { Deployed } from "../support/deployed-limiter.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { World } from "../support/stores-under-test.ts";
import { describeWorlds } from "../support/stores-under-test.ts";

/*
 * One account goes on through numbers that change: what Headgate says of it, in memory and on Redis, is what exact rationals say,
 * and so is what is left of a charge when it is given back.
 */

const HISTORIES = 32;
const LENGTH = 40;

describeWorlds((world) => {
  test.each(KINDS)("%s decides by the current limits after a change", async (kind) => {
    const seen = { overdrawn: 0, given: 0, kept: 0 };
    await world.run(HISTORIES, (random) =>
      compare(
        world,
        random,
        [randomLimit(random, kind, random.chance(0.6) ? "small" : "wide")],
        seen,
      ),
    );
    // Each of them happens often enough to be compared.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(HISTORIES / 10);
  });

  test("several limits decide by the current limits after a change", async () => {
    const seen = { overdrawn: 0, given: 0, kept: 0 };
    await world.run(HISTORIES * 2, (random) =>
      compare(world, random, randomPolicy(random, random.whole(2, 4), 2), seen),
    );
    expect(seen.overdrawn).toBeGreaterThan(HISTORIES / 10);
  });
});

/** How often something was compared. */
interface Seen {
  overdrawn: number;
  /** Refunds that gave something back, and those that did not. */
  given: number;
  kept: number;
}

async function compare(
  world: World,
  random: Random,
  limits: readonly Limit[],
  seen: Seen,
): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const others = Array.from({ length: random.whole(1, 3) }, () =>
    limits.map((limit) => (random.chance(0.2) ? limit : withOtherNumbers(random, limit))),
  );
  const deploys = [limits, ...others];
  const store = world.open(time.clock);
  const deployed = new Deployed(store, limits);
  const oracle = new Oracle(limits, world.keepsDrained);
  const subjects = Object.fromEntries(limits.map(({ per = "default" }) => [per, "customer"]));
  const admitted: [Decision, Decision][] = [];
  let last: Decision | undefined;
  for (let step = 0; step < LENGTH; step++) {
    const context = () => `step ${step} at ${time.now} of ${JSON.stringify(deploys)}`;
    if (random.chance(0.25)) {
      const present = random.pick(deploys);
      await deployed.deploy(present);
      oracle.change(present);
    }
    time.advance(
      random.chance(0.5)
        ? randomShortWait(random, last)
        : randomWait(random, last, last === undefined ? [] : oracle.moments),
    );
    const act = random.fraction();
    if (act < 0.2 && admitted.length > 0) {
      const [charge] = admitted.splice(random.whole(0, admitted.length - 1), 1);
      const [decision, expected] = charge as [Decision, Decision];
      const given = await deployed.refund(decision);
      claim(given === oracle.refund(expected, time.now), () => `refunds ${given}, ${context()}`);
      seen[given ? "given" : "kept"] += 1;
    }
    const cost = randomCost(random, last);
    const charge = act < 0.85;
    const before = charge ? await world.valuesIn(store) : undefined;
    const expected = oracle.decide(subjects, cost, time.now, { charges: charge });
    const decision = await (charge
      ? deployed.consume(subjects, cost)
      : deployed.peek(subjects, cost));
    claimSame(decision, expected, context);
    if (charge && decision.allowed) admitted.push([decision, expected]);
    // What takes longer to drain than its key lives is written by a denial.
    if (before !== undefined && !decision.allowed) {
      const after = [...(await world.valuesIn(store))];
      const written = after.filter(([dimension, value]) => value !== before.get(dimension));
      oracle.pass(
        written.map(([dimension]) => dimension),
        subjects,
        time.now,
      );
    }
    if (decision.limits.some(({ overdrawn }) => overdrawn > 0)) seen.overdrawn += 1;
    last = decision;
  }
}
