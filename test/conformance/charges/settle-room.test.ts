import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { definitionOf } from "../oracle/definition.ts";
import { KINDS, randomLimit, randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart, randomUnits } from "../random/steps.ts";
import type { Admission } from "../support/admissions.ts";
import { findExcess } from "../support/admissions.ts";
import { claim } from "../support/claim.ts";
import { claimNoLessRoom, startsWithRequest } from "../support/claim-no-less-room.ts";
import { nextGreedyRequest } from "../support/greedy-sender.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { StoreUnderTest } from "../support/stores-under-test.ts";
import { describeStores } from "../support/stores-under-test.ts";

const HISTORIES = 120;
const LENGTH = 20;
const SUBJECT = "customer";

describeStores((tested) => {
  test.each(KINDS)(
    "%s leaves no more room than if the real cost had been charged",
    async (kind) => {
      let settled = 0;
      await tested.run(HISTORIES, async (random) => {
        const size = random.chance(0.7) ? "small" : "wide";
        const landed = await compare(tested, random, [randomLimit(random, kind, size)]);
        settled += landed;
      });
      expect(settled).toBeGreaterThan(HISTORIES / 10);
    },
  );

  test("several limits leave no more room than if the real cost had been charged", async () => {
    let settled = 0;
    await tested.run(HISTORIES * 2, async (random) => {
      const limits = randomPolicy(random, random.whole(2, 4));
      if (limits.some(startsWithRequest)) return;
      const landed = await compare(tested, random, limits);
      settled += landed;
    });
    expect(settled).toBeGreaterThan(HISTORIES / 10);
  });

  test.each(KINDS)(
    "who estimates 1 and uses 100, a hundred at a time, gets of %s what it promises and one round",
    async (kind) => {
      await tested.run(HISTORIES / 10, async (random) => {
        const limit = randomLimit(random, kind, "small");
        const time = new MicroClock(randomStart(random));
        const limiter = open(tested, time, [limit]);
        const uses: Admission[] = [];
        let last: Decision | undefined;
        for (let round = 0; round < 20; round += 1) {
          if (last !== undefined)
            time.advance(nextGreedyRequest(random, limit, time.now, last).wait);
          const decisions = await Promise.all(
            Array.from({ length: IN_FLIGHT }, () => limiter.consume(SUBJECT)),
          );
          last = decisions.at(-1);
          for (const decision of decisions) {
            if (!decision.allowed) continue;
            uses.push({ at: time.now, cost: USED });
            await limiter.settle(decision, USED);
          }
        }
        const excess = findExcess(limit, uses, roundsOf(limit));
        claim(excess === undefined, () => `${excess}: ${JSON.stringify(limit)}`);
        claim(uses.length > 0, () => `no request was admitted: ${JSON.stringify(limit)}`);
      });
    },
  );
});

const IN_FLIGHT = 100;
const USED = 100;

/**
 * What requests in flight may use beyond the promise: one round of as many as fit, and of windows that may meet, of which each
 * promises its limit, one for each.
 */
function roundsOf(limit: Limit): bigint {
  const { capacity } = definitionOf(limit);
  const fitting = capacity < BigInt(IN_FLIGHT) ? capacity : BigInt(IN_FLIGHT);
  const mayMeet =
    limit.algorithm === "fixedWindow" ||
    (limit.algorithm === "slidingWindow" && (limit.buckets ?? 1) === 1);
  return fitting * BigInt(USED) * (mayMeet ? 2n : 1n);
}

function open(tested: StoreUnderTest, time: MicroClock, limits: readonly Limit[]): Limiter {
  const store = tested.open(time.clock);
  return createLimiter({ ...STORE_ALONE, name: "settled", limits, store });
}

/** A request that was charged an estimate, and its real cost. */
interface Estimated {
  readonly decision: Decision;
  readonly units: number;
}

/**
 * Sends requests to two limiters: the first charges an estimate to some of them and settles later; the second charges the real
 * costs immediately. The first must never have more room, once all requests above their estimate are settled. Returns the number
 * of settled requests.
 */
async function compare(
  tested: StoreUnderTest,
  random: Random,
  limits: readonly Limit[],
): Promise<number> {
  const time = new MicroClock(randomStart(random));
  const [estimating, knowing] = [open(tested, time, limits), open(tested, time, limits)];
  const unsettled: Estimated[] = [];
  /** The end of the window that the first estimate may have started. The limiters compare until then. */
  let end: bigint | undefined;
  let settled = 0;
  let last: Decision | undefined;
  for (let step = 0; step < LENGTH; step += 1) {
    time.advance(randomShortWait(random, last));
    if (end !== undefined && time.now >= end) break;
    last = await estimating.consume(SUBJECT, { cost: randomCost(random, last) });
    if (last.allowed) {
      const units = random.chance(0.4) ? randomUnits(random, last) : Number(last.cost);
      if (units > 0) await knowing.charge(SUBJECT, { cost: units });
      if (units !== last.cost) {
        unsettled.push({ decision: last, units });
        if (limits.some(startsWithRequest))
          end ??= time.now + BigInt(last.resetAfterMs) * 1_000n - 999n;
      }
    }
    if (unsettled.length > 0 && random.chance(0.5)) {
      const [one] = unsettled.splice(random.whole(0, unsettled.length - 1), 1) as [Estimated];
      const { overflow } = await estimating.settle(one.decision, one.units);
      settled += 1;
      // Units above the maximum of a counter are lost.
      if (overflow > 0) break;
    }
    if (unsettled.some(({ decision, units }) => units > Number(decision.cost))) continue;
    const probe = { cost: randomCost(random, last) };
    const [more, less] = await Promise.all([
      knowing.peek(SUBJECT, probe),
      estimating.peek(SUBJECT, probe),
    ]);
    claimNoLessRoom(more, less, limits);
    claim(
      more.limits.every(({ overdrawn }, i) => overdrawn <= (less.limits[i]?.overdrawn ?? 0)),
      () => `less is overdrawn: ${JSON.stringify({ limits, more, less })}`,
    );
  }
  return settled;
}
