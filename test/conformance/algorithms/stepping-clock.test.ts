import type { Decision, Limiter } from "@headgate/core";
import { createLimiter, memoryStore } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { definitionOf } from "../oracle/definition.ts";
import { historiesOf, runHistories } from "../random/histories.ts";
import { KINDS_WITHOUT_CALENDAR, randomLimit, randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import {
  changeTimesOf,
  randomCharge,
  randomCost,
  randomStart,
  randomWait,
} from "../random/steps.ts";
import type { Admission } from "../support/admissions.ts";
import { findExcess } from "../support/admissions.ts";
import { claim, claimSame } from "../support/claim.ts";
import { nextGreedyRequest } from "../support/greedy-sender.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeRedisStore } from "../support/stores-under-test.ts";

const HISTORIES = 300;
const SUBJECT = "patient";
const LONGEST_MS = 9_007_199_254_740;

describeRedisStore((tested) => {
  test("a clock that steps back makes no client wait longer than before the step", async () => {
    let blocked = 0;
    await tested.run(HISTORIES, async (random) => {
      const time = new MicroClock(randomStart(random));
      const limits = randomPolicy(random, random.whole(1, 3), 1, KINDS_WITHOUT_CALENDAR);
      const limiter = createLimiter({
        ...STORE_ALONE,
        name: "steps",
        limits,
        store: tested.open(time.clock),
      });
      const cost = random.magnitude(1, Math.min(...limiter.limits.map(({ limit }) => limit)));
      let last: Decision | undefined;
      /** The reported wait directly after an admission or a charge. Denials write nothing, so the store knows no later time. */
      let reported: Decision | undefined;
      for (let step = 0; step < 8; step++) {
        time.advance(nextWait(random, last));
        last = await limiter.consume(SUBJECT, { cost: randomCost(random, last) });
        const isCharged = random.chance(0.3);
        if (isCharged) await limiter.charge(SUBJECT, { cost: randomCharge(random, last) });
        if (last.allowed || isCharged) reported = await limiter.peek(SUBJECT, { cost });
      }
      // A wait above the longest reported time has an unknown length.
      if (reported === undefined || reported.retryAfterMs >= LONGEST_MS) return;
      stepBack(random, time);

      let answer = await limiter.consume(SUBJECT, { cost });
      const context = (): string =>
        `${cost} reported ${reported?.retryAfterMs} ms, then ${answer.retryAfterMs} ms at ${time.now}, of ${JSON.stringify(limits)}`;
      claim(answer.retryAfterMs <= reported.retryAfterMs, context);
      const deadline = time.now + BigInt(answer.retryAfterMs) * 1_000n;
      for (let attempt = 0; attempt < 6 && !answer.allowed; attempt++) {
        blocked += 1;
        const left = deadline - time.now;
        if (!time.advance(attempt === 5 ? left : left / BigInt(random.whole(2, 5)))) return;
        answer = await limiter.consume(SUBJECT, { cost });
        const leftMs = Number((deadline - time.now + 999n) / 1_000n);
        claim(answer.retryAfterMs <= leftMs, context);
      }
      claim(answer.allowed, context);
    });
    expect(blocked).toBeGreaterThan(HISTORIES / 20);
  });

  test.each(KINDS_WITHOUT_CALENDAR)(
    "a clock step admits at most one budget of %s",
    async (kind) => {
      await tested.run(HISTORIES / 4, async (random) => {
        const limit = randomLimit(random, kind, "small");
        const { capacity } = definitionOf(limit);
        const time = new MicroClock(randomStart(random));
        const limiter = createLimiter({
          ...STORE_ALONE,
          name: "steps",
          limits: limit,
          store: tested.open(time.clock),
        });
        const admissions: Admission[] = [];
        let passed = 0n;
        let steps = 0n;
        let last: Decision | undefined;
        for (let step = 0; step < 60; step++) {
          const { wait, cost } = nextGreedyRequest(random, limit, time.now, last);
          if (time.advance(wait)) passed += wait;
          if (random.chance(0.05)) {
            if (random.chance(0.7)) stepBack(random, time);
            else time.advance(BigInt(random.magnitude(1, 10 ** 14)));
            steps += 1n;
          }
          last = await limiter.consume(SUBJECT, { cost });
          if (last.allowed) admissions.push({ at: passed, cost });
        }
        const excess = findExcess(limit, admissions, steps * capacity);
        claim(excess === undefined, () => `${excess}: ${JSON.stringify(limit)}`);
      });
    },
  );
});

test("in memory, a clock that steps back counts as standing still", async () => {
  await runHistories(historiesOf(HISTORIES, 50 * HISTORIES), async (random) => {
    const limits = randomPolicy(random, random.whole(1, 3));
    const steady = new MicroClock(randomStart(random));
    const stepping = new MicroClock(steady.now);
    const [one, other] = [steady, stepping].map(({ clock }) =>
      createLimiter({ ...STORE_ALONE, name: "steps", limits, store: memoryStore({ clock }) }),
    ) as [Limiter, Limiter];
    let last: Decision | undefined;
    for (let step = 0; step < 20; step++) {
      const wait = nextWait(random, last);
      if (steady.advance(wait)) stepping.advance(wait);
      const cost = randomCost(random, last);
      last = await one.consume(SUBJECT, { cost });
      const same = await other.consume(SUBJECT, { cost });
      claimSame(same, last, () => JSON.stringify(limits));
      if (random.chance(0.2)) {
        stepBack(random, stepping);
        // The step is noticed when the clock is read.
        await other.peek(SUBJECT);
      }
    }
  });
});

function nextWait(random: Random, last: Decision | undefined): bigint {
  return randomWait(random, last, last === undefined ? [] : changeTimesOf(last));
}

/** By a microsecond, by years, or by anything between. */
function stepBack(random: Random, time: MicroClock): void {
  const most = Number(time.now);
  const step = random.chance(0.1) ? 1 : random.magnitude(1, most);
  time.now -= BigInt(Math.min(step, most));
}
