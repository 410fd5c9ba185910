import type { Random } from "../conformance/random/random.ts";

/** Microseconds. */
const SECOND = 1_000_000;
const DAY = 86_400n * 1_000_000n;

/** Microseconds until the next step: mostly none or few, or to the edge of one of the `moments` at which something changes. */
export function randomWait(random: Random, moments: readonly bigint[]): bigint {
  if (random.chance(0.6)) return random.pick([0n, 0n, 1n, BigInt(random.whole(0, 10_000))]);
  const moment = moments.length > 0 ? random.pick(moments) : 0n;
  const wait = random.pick([
    moment,
    moment - 1n,
    moment + 1n,
    moment / 50n,
    moment / BigInt(random.whole(2, 20)),
    BigInt(random.magnitude(1, 60 * SECOND)),
    random.chance(0.05) ? 8n * DAY : 1n,
  ]);
  return wait < 0n ? 0n : wait;
}

/** Microseconds by which a clock may step back: one, years, or anything between. */
export function randomStepBack(random: Random, now: bigint): bigint {
  return random.chance(0.1) ? 1n : BigInt(random.magnitude(1, Number(now)));
}
