import type { Decision, Limit, LimitState } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { MicroClock } from "./micro-clock.ts";
import type { Random } from "./random.ts";
import { KINDS, randomLimit, randomPolicy } from "./random-limits.ts";
import { momentsOf, randomCost, randomStart, randomWait } from "./random-steps.ts";
import type { World } from "./worlds.ts";
import { describeWorlds } from "./worlds.ts";

const HISTORIES = 2_000;

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
  const context = `${cost} denied at ${denied} by ${JSON.stringify(limits)}`;
  const waits = new Set(last.limits.map(({ retryAfterMs }) => retryAfterMs).toSorted(ascending));
  for (const wait of waits) {
    const deadline = denied + BigInt(wait) * 1_000n;
    if (wait === 0 || !time.advance(deadline - 1_000n - time.now)) continue;
    const early = await limiter.peek("waiting", { cost });
    expect(allowedAmong(early, last.limits, wait), `1 ms early: ${context}`).not.toContain(true);
    // Denials are free, so this one is no reason to wait any longer.
    if (wait === last.retryAfterMs) {
      expect(await limiter.consume("waiting", { cost }), context).toMatchObject({ allowed: false });
    }
    time.advance(1_000n);
    const then = await limiter.peek("waiting", { cost });
    expect(allowedAmong(then, last.limits, wait), `in time: ${context}`).not.toContain(false);
  }
  if (time.now !== denied + BigInt(last.retryAfterMs) * 1_000n) return false;
  expect(await limiter.consume("waiting", { cost }), context).toMatchObject({ allowed: true });
  return true;
}

/** What the limits that had to wait so long say now. */
function allowedAmong(
  decision: Decision,
  waited: readonly LimitState[],
  retryAfterMs: number,
): boolean[] {
  return decision.limits
    .filter((_, i) => waited[i]?.retryAfterMs === retryAfterMs)
    .map(({ allowed }) => allowed);
}

function ascending(a: number, b: number): number {
  return a - b;
}
