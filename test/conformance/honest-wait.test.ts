import type { Decision, Limit } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { claim } from "./claim.ts";
import { MicroClock } from "./micro-clock.ts";
import type { Random } from "./random.ts";
import { KINDS, randomLimit, randomPolicy } from "./random-limits.ts";
import { momentsOf, randomCost, randomStart, randomWait } from "./random-steps.ts";
import type { World } from "./worlds.ts";
import { describeWorlds } from "./worlds.ts";

const HISTORIES = 1_500;

/** Requests before a wait is put to the test. */
const LENGTH = 12;

describeWorlds(12, (world) => {
  test.each(KINDS)("%s tells an honest wait", async (kind) => {
    let tried = 0;
    await world.run(HISTORIES, async (random) => {
      const size = random.chance(0.5) ? "small" : "wide";
      if (await tryWait(world, random, [randomLimit(random, kind, size)])) tried += 1;
    });
    expect(tried).toBeGreaterThan(HISTORIES / 20);
  });

  test("several limits tell an honest wait together, and each its own", async () => {
    let tried = 0;
    await world.run(HISTORIES, async (random) => {
      if (await tryWait(world, random, randomPolicy(random, random.whole(2, 4)))) tried += 1;
    });
    expect(tried).toBeGreaterThan(HISTORIES / 20);
  });
});

/** Spends until something is denied that can pass later, and waits for it; false when nothing was. */
async function tryWait(world: World, random: Random, limits: readonly Limit[]): Promise<boolean> {
  const time = new MicroClock(randomStart(random));
  const limiter = createLimiter({ name: "waits", limits, store: world.open(time.clock) });
  let last: Decision | undefined;
  let cost = 1;
  for (let step = 0; step < LENGTH || (last?.allowed && step < LENGTH * 3); step++) {
    // The wait has its own share of odd microseconds, so that it begins anywhere in a millisecond.
    time.advance(last === undefined ? 0n : randomWait(random, last, momentsOf(last)));
    if (random.chance(0.3)) time.advance(BigInt(random.whole(0, 1_000)));
    cost = randomCost(random, last);
    last = await limiter.consume("waiting", { cost });
  }
  if (last === undefined || last.allowed || last.retryAfterMs === Number.POSITIVE_INFINITY) {
    return false;
  }
  const denied = time.now;
  const context = (when: string) => (): string =>
    `${when}: ${cost}, denied at ${denied}, by ${JSON.stringify(limits)}`;
  const told = last.limits;
  const waits = new Set(told.map(({ retryAfterMs }) => retryAfterMs).toSorted((a, b) => a - b));
  for (const wait of waits) {
    const deadline = denied + BigInt(wait) * 1_000n;
    /** What the limits that had to wait so long say. */
    const waited = ({ limits: states }: Decision) =>
      states.filter((_, i) => told[i]?.retryAfterMs === wait);
    if (wait === 0 || !time.advance(deadline - 1_000n - time.now)) continue;
    const early = await limiter.peek("waiting", { cost });
    claim(!waited(early).some(({ allowed }) => allowed), context("1 ms early"));
    // Denials are free, so this one is no reason to wait any longer.
    if (wait === last.retryAfterMs) {
      const { allowed } = await limiter.consume("waiting", { cost });
      claim(!allowed, context("1 ms early, all together"));
    }
    time.advance(1_000n);
    const then = await limiter.peek("waiting", { cost });
    claim(
      waited(then).every(({ allowed }) => allowed),
      context("in time"),
    );
  }
  if (time.now !== denied + BigInt(last.retryAfterMs) * 1_000n) return false;
  claim((await limiter.consume("waiting", { cost })).allowed, context("in time, all together"));
  return true;
}
