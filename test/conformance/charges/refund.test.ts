import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import type { Kind } from "../random/limits.ts";
import { KINDS, randomLimit } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart } from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { claimNoLessRoom } from "../support/claim-no-less-room.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { StoreUnderTest } from "../support/stores-under-test.ts";
import { describeStores } from "../support/stores-under-test.ts";

const HISTORIES = 64;
const LENGTH = 20;
const SUBJECT = "customer";

describeStores((tested) => {
  test.each(KINDS)("an immediate refund of %s leaves no trace, and happens once", async (kind) => {
    await tested.run(HISTORIES, async (random) => {
      const { limiter, time } = stage(tested, random, kind);
      let last: Decision | undefined;
      for (let step = 0; step < LENGTH; step++) {
        time.advance(randomShortWait(random, last));
        const cost = randomCost(random, last);
        const before = await limiter.peek(SUBJECT);
        last = await limiter.consume(SUBJECT, { cost });
        if (random.chance(0.5)) continue;
        const given = await Promise.all([limiter.refund(last), limiter.refund(last)]);
        claim(given.filter(Boolean).length === (last.allowed ? 1 : 0), () => `${given}`);
        claimSame(await limiter.peek(SUBJECT), before);
        claim(!(await limiter.refund(last)), () => "a third refund lands");
        claimSame(await limiter.peek(SUBJECT), before);
      }
    });
  });

  test.each(KINDS)("a refund of %s happens once, however late", async (kind) => {
    await tested.run(HISTORIES, async (random) => {
      const { limit, limiter, time } = stage(tested, random, kind);
      const admitted: Decision[] = [];
      let last: Decision | undefined;
      for (let step = 0; step < LENGTH; step++) {
        time.advance(randomShortWait(random, last));
        last = await limiter.consume(SUBJECT, { cost: randomCost(random, last) });
        if (last.allowed) admitted.push(last);
        if (admitted.length === 0 || random.chance(0.5)) continue;
        const decision = random.pick(admitted);
        const before = await limiter.peek(SUBJECT);
        const given = await limiter.refund(decision);
        const after = await limiter.peek(SUBJECT);
        if (!given) claimSame(after, before);
        claimNoLessRoom(after, before, [limit]);
        claim(!(await limiter.refund(decision)), () => "a second refund lands");
        claimSame(await limiter.peek(SUBJECT), after);
      }
    });
  });

  test.each(KINDS)("a refund of %s that is too late changes nothing", async (kind) => {
    let tried = 0;
    await tested.run(HISTORIES, async (random) => {
      const { limiter, time } = stage(tested, random, kind);
      const start = await limiter.consume(SUBJECT, { cost: 1 });
      await limiter.consume(SUBJECT, { cost: randomCost(random, start) });
      const late = random.pick([afterReset, afterExpiry, afterReturn]);
      if (!(await late(random, limiter, time))) return;
      tried += 1;
      const before = await limiter.peek(SUBJECT);
      claim(!(await limiter.refund(start)), () => `a refund lands ${late.name}`);
      claimSame(await limiter.peek(SUBJECT), before);
    });
    expect(tried).toBeGreaterThan(HISTORIES / 10);
  });

  test.each(KINDS)("a denied request and a peek of %s have nothing to refund", async (kind) => {
    await tested.run(HISTORIES / 4, async (random) => {
      const { limiter } = stage(tested, random, kind);
      const { limit } = await limiter.consume(SUBJECT);
      const denied = await limiter.consume(SUBJECT, { cost: limit });
      const before = await limiter.peek(SUBJECT);
      expect(denied.allowed).toBe(false);
      expect(await limiter.refund(denied)).toBe(false);
      expect(await limiter.refund(before)).toBe(false);
      claimSame(await limiter.peek(SUBJECT), before);
    });
  });
});

/** The subject was forgotten, and maybe came again. */
async function afterReset(random: Random, limiter: Limiter, time: MicroClock): Promise<boolean> {
  await limiter.reset(SUBJECT);
  time.advance(BigInt(random.whole(0, 3)));
  if (random.chance(0.8)) await limiter.consume(SUBJECT);
  return true;
}

/** All that was charged has come back; false when that takes longer than the clock goes. */
async function afterExpiry(random: Random, limiter: Limiter, time: MicroClock): Promise<boolean> {
  // The probe is denied, so that it reports the charged state.
  const { limits } = await limiter.peek(SUBJECT, { cost: Number.MAX_SAFE_INTEGER });
  const unused = Math.max(...limits.map(({ resetAfterMs }) => resetAfterMs));
  return time.advance(BigInt(unused) * 1_000n + BigInt(random.pick([0, 0, 1, 1_000_000])));
}

/** All that was charged has come back, and the subject came again. */
async function afterReturn(random: Random, limiter: Limiter, time: MicroClock): Promise<boolean> {
  if (!(await afterExpiry(random, limiter, time))) return false;
  await limiter.consume(SUBJECT);
  return true;
}

/** A limiter of one limit, and its clock. */
function stage(tested: StoreUnderTest, random: Random, kind: Kind) {
  const time = new MicroClock(randomStart(random));
  const limit: Limit = randomLimit(random, kind, random.chance(0.7) ? "small" : "wide");
  const store = tested.open(time.clock);
  return {
    limit,
    limiter: createLimiter({ ...STORE_ALONE, name: "refunds", limits: limit, store }),
    time,
  };
}
