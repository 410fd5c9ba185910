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
      let given = 0;
      await tested.run(HISTORIES, async (random) => {
        const size = random.chance(0.7) ? "small" : "wide";
        const landed = await compare(tested, random, [randomLimit(random, kind, size)]);
        given += landed;
      });
      expect(given).toBeGreaterThan(HISTORIES / 10);
    },
  );

  test("a refund of several limits leaves no more room than without the request", async () => {
    let given = 0;
    await tested.run(HISTORIES * 2, async (random) => {
      const limits = randomPolicy(random, random.whole(2, 4));
      if (limits.some(startsWithRequest)) return;
      const landed = await compare(tested, random, limits);
      given += landed;
    });
    expect(given).toBeGreaterThan(HISTORIES / 10);
  });
});

/**
 * Sends requests to two worlds; some of them to the first only, which gives them back sooner or later.
 * The first must never have more room than the second. Returns how many refunds landed.
 */
async function compare(
  tested: StoreUnderTest,
  random: Random,
  limits: readonly Limit[],
): Promise<number> {
  const time = new MicroClock(randomStart(random));
  const [asked, spared] = [1, 2].map(() =>
    createLimiter({ ...STORE_ALONE, name: "refunds", limits, store: tested.open(time.clock) }),
  ) as [Limiter, Limiter];
  const doubtful: Decision[] = [];
  /** When the window ends that the first doubtful request may have begun: until then, the worlds compare. */
  let end: bigint | undefined;
  let given = 0;
  let last: Decision | undefined;
  for (let step = 0; step < LENGTH; step++) {
    time.advance(randomShortWait(random, last));
    if (end !== undefined && time.now >= end) break;
    const cost = randomCost(random, last);
    last = await asked.consume(SUBJECT, { cost });
    if (last.allowed && random.chance(0.3)) {
      doubtful.push(last);
      if (limits.some(startsWithRequest))
        end ??= time.now + BigInt(last.resetAfterMs) * 1_000n - 999n;
    } else if (last.allowed) {
      const { allowed } = await spared.consume(SUBJECT, { cost });
      claim(allowed, () => `less room where less was asked of ${JSON.stringify(limits)}`);
    }
    if (doubtful.length > 0 && random.chance(0.4)) {
      const [decision] = doubtful.splice(random.whole(0, doubtful.length - 1), 1);
      if (await asked.refund(decision as Decision)) given += 1;
    }
    const probe = { cost: randomCost(random, last) };
    claimNoLessRoom(await spared.peek(SUBJECT, probe), await asked.peek(SUBJECT, probe), limits);
  }
  return given;
}
