import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { KINDS, randomLimit, randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { claimNoLessRoom, startsWithRequest } from "../support/claim-no-less-room.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { StoreUnderTest } from "../support/stores-under-test.ts";
import { describeStores } from "../support/stores-under-test.ts";

const HISTORIES = 120;
const LENGTH = 20;
const SUBJECT = "customer";

describeStores((tested) => {
  test.each(KINDS)(
    "a refund of %s leaves no more room than if it was never asked",
    async (kind) => {
      let refunds = 0;
      await tested.run(HISTORIES, async (random) => {
        const size = random.chance(0.7) ? "small" : "wide";
        const succeeded = await compare(tested, random, [randomLimit(random, kind, size)]);
        refunds += succeeded;
      });
      expect(refunds).toBeGreaterThan(HISTORIES / 10);
    },
  );

  test("a refund of several limits leaves no more room than without the request", async () => {
    let refunds = 0;
    await tested.run(HISTORIES * 2, async (random) => {
      const limits = randomPolicy(random, random.whole(2, 4));
      if (limits.some(startsWithRequest)) return;
      const succeeded = await compare(tested, random, limits);
      refunds += succeeded;
    });
    expect(refunds).toBeGreaterThan(HISTORIES / 10);
  });
});

/**
 * Sends requests to two limiters. Some go to the first one only, which refunds them later. The first must never have more room
 * than the second. Returns the number of successful refunds.
 */
async function compare(
  tested: StoreUnderTest,
  random: Random,
  limits: readonly Limit[],
): Promise<number> {
  const time = new MicroClock(randomStart(random));
  const [refunding, reference] = [1, 2].map(() =>
    createLimiter({ ...STORE_ALONE, name: "refunds", limits, store: tested.open(time.clock) }),
  ) as [Limiter, Limiter];
  const refundable: Decision[] = [];
  /** The end of the window that the first refundable request may have started. The limiters compare until then. */
  let end: bigint | undefined;
  let refunds = 0;
  let last: Decision | undefined;
  for (let step = 0; step < LENGTH; step++) {
    time.advance(randomShortWait(random, last));
    if (end !== undefined && time.now >= end) break;
    const cost = randomCost(random, last);
    last = await refunding.consume(SUBJECT, { cost });
    if (last.allowed && random.chance(0.3)) {
      refundable.push(last);
      if (limits.some(startsWithRequest))
        end ??= time.now + BigInt(last.resetAfterMs) * 1_000n - 999n;
    } else if (last.allowed) {
      const { allowed } = await reference.consume(SUBJECT, { cost });
      claim(allowed, () => `less room after fewer charges of ${JSON.stringify(limits)}`);
    }
    if (refundable.length > 0 && random.chance(0.4)) {
      const [decision] = refundable.splice(random.whole(0, refundable.length - 1), 1);
      if (await refunding.refund(decision as Decision)) refunds += 1;
    }
    const probe = { cost: randomCost(random, last) };
    claimNoLessRoom(
      await reference.peek(SUBJECT, probe),
      await refunding.peek(SUBJECT, probe),
      limits,
    );
  }
  return refunds;
}
