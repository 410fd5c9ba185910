import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import type { SubjectOf } from "../oracle/oracle.ts";
import { Oracle } from "../oracle/oracle.ts";
import { KINDS, randomLimit, randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomStart, randomWait } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { StoreUnderTest } from "../support/stores-under-test.ts";
import { describeStores } from "../support/stores-under-test.ts";

const HISTORIES = 300;

/** Requests before a wait is put to the test. */
const LENGTH = 12;

describeStores((tested) => {
  test.each(KINDS)(
    "retryAfter of %s is honest: waiting that long succeeds, a microsecond less fails",
    async (kind) => {
      let tried = 0;
      await tested.run(HISTORIES, async (random) => {
        const size = random.chance(0.5) ? "small" : "wide";
        if (await tryWait(tested, random, [randomLimit(random, kind, size)])) tried += 1;
      });
      expect(tried).toBeGreaterThan(HISTORIES / 20);
    },
  );

  test("retryAfter of several limits is honest for the decision and for each limit", async () => {
    let tried = 0;
    await tested.run(HISTORIES, async (random) => {
      if (await tryWait(tested, random, randomPolicy(random, random.whole(2, 4)))) tried += 1;
    });
    expect(tried).toBeGreaterThan(HISTORIES / 20);
  });
});

/** Spends until a request is denied that fits later, and tests its wait. Returns false if there was none. */
async function tryWait(
  tested: StoreUnderTest,
  random: Random,
  limits: readonly Limit[],
): Promise<boolean> {
  const time = new MicroClock(randomStart(random));
  const limiter = createLimiter({
    ...STORE_ALONE,
    name: "waits",
    limits,
    store: tested.open(time.clock),
  });
  const subject = Object.fromEntries(limits.map(({ per = "default" }) => [per, "waiting"]));
  const oracle = new Oracle(limits);
  let last: Decision | undefined;
  let cost = 1;
  for (let step = 0; step < LENGTH || (last?.allowed && step < LENGTH * 3); step++) {
    time.advance(randomWait(random, last, oracle.changeTimes));
    cost = randomCost(random, last);
    oracle.decide(subject, cost, time.now);
    last = await limiter.consume(subject, { cost });
  }
  const wait = oracle.untilAdmitted(subject, cost, time.now);
  if (wait === undefined || wait < 2_000n) return false;
  // A wait that ends with a millisecond, or a microsecond from it, shows whether it was rounded the right way.
  if (random.chance(0.7)) time.advance(((wait - 1n) % 1_000n) + BigInt(random.whole(0, 2)));
  return keepsItsWord(limiter, subject, cost, time);
}

/** Tests that a reported wait is exact. Returns false if it passes the latest time of the clock. */
async function keepsItsWord(
  limiter: Limiter,
  subject: SubjectOf,
  cost: number,
  time: MicroClock,
): Promise<boolean> {
  const denied = time.now;
  const reported = await limiter.consume(subject, { cost });
  const context = (when: string) => (): string =>
    `${when}: ${JSON.stringify(reported)}, at ${denied} of ${JSON.stringify(limiter.limits)}`;
  claim(!reported.allowed, context("denied"));
  const waits = new Set(reported.limits.map(({ retryAfterMs }) => retryAfterMs));
  for (const wait of [...waits].filter((ms) => ms > 0).toSorted((a, b) => a - b)) {
    /** The states of the limits with this wait. */
    const waited = ({ limits }: Decision) =>
      limits.filter((_, i) => reported.limits[i]?.retryAfterMs === wait);
    if (!time.advance(denied + BigInt(wait - 1) * 1_000n - time.now)) return false;
    const early = await limiter.peek(subject, { cost });
    claim(!waited(early).some(({ allowed }) => allowed), context(`early by 1 of ${wait} ms`));
    if (wait === reported.retryAfterMs) {
      const { allowed } = await limiter.consume(subject, { cost });
      claim(!allowed, context("early by 1 ms, all limits together"));
    }
    time.advance(1_000n);
    const then = await limiter.peek(subject, { cost });
    claim(
      waited(then).every(({ allowed }) => allowed),
      context(`after ${wait} ms`),
    );
  }
  const { allowed } = await limiter.consume(subject, { cost });
  claim(allowed, context("in time, all limits together"));
  return true;
}
