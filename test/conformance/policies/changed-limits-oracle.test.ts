import type { Decision, Limit } from "@headgate/core";
import { expect, test } from "vitest";
import { Oracle } from "../oracle/oracle.ts";
import { KINDS, randomLimit, randomPolicy, withOtherValues } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart, randomWait } from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { DeployedLimiter } from "../support/deployed-limiter.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { StoreUnderTest } from "../support/stores-under-test.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * One account goes on through numbers that change: what Headgate says of it, in memory and on Redis, is what exact rationals say,
 * and so is what is left of a charge when it is given back.
 */

const HISTORIES = 32;
const LENGTH = 40;

describeStores((tested) => {
  test.each(KINDS)("%s decides by the current limits after a change", async (kind) => {
    const seen = { overdrawn: 0, given: 0, kept: 0 };
    await tested.run(HISTORIES, (random) =>
      compare(
        tested,
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
    await tested.run(HISTORIES * 2, (random) =>
      compare(tested, random, randomPolicy(random, random.whole(2, 4), 2), seen),
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
  tested: StoreUnderTest,
  random: Random,
  limits: readonly Limit[],
  seen: Seen,
): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const others = Array.from({ length: random.whole(1, 3) }, () =>
    limits.map((limit) => (random.chance(0.2) ? limit : withOtherValues(random, limit))),
  );
  const deploys = [limits, ...others];
  const store = tested.open(time.clock);
  const deployed = new DeployedLimiter(store, limits);
  const oracle = new Oracle(limits, tested.drainsOnRead);
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
        : randomWait(random, last, last === undefined ? [] : oracle.changeTimes),
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
    const before = charge ? await tested.valuesIn(store) : undefined;
    const expected = oracle.decide(subjects, cost, time.now, { charges: charge });
    const decision = await (charge
      ? deployed.consume(subjects, cost)
      : deployed.peek(subjects, cost));
    claimSame(decision, expected, context);
    if (charge && decision.allowed) admitted.push([decision, expected]);
    // A denial writes a counter that drains for longer than its key lives.
    if (before !== undefined && !decision.allowed) {
      const after = [...(await tested.valuesIn(store))];
      const written = after.filter(([dimension, value]) => value !== before.get(dimension));
      oracle.advance(
        written.map(([dimension]) => dimension),
        subjects,
        time.now,
      );
    }
    if (decision.limits.some(({ overdrawn }) => overdrawn > 0)) seen.overdrawn += 1;
    last = decision;
  }
}
