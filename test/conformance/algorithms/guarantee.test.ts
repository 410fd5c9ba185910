import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter, memoryStore } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { historiesOf, runHistories, SCALE } from "../random/histories.ts";
import { KINDS, randomLimit } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomStart } from "../random/steps.ts";
import type { Admission } from "../support/admissions.ts";
import { findExcess, findExcessInOwnWindow } from "../support/admissions.ts";
import { claim } from "../support/claim.ts";
import { nextGreedyRequest } from "../support/greedy-sender.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

const HISTORIES = historiesOf(30, 64);
/** Where the store forgets. */
const FORGETFUL = historiesOf(30, 3_000);
const LENGTH = 80;

describeStores((tested) => {
  test.each(KINDS)(
    "no client gets more than %s guarantees, however it times its requests",
    async (kind) => {
      await tested.run(HISTORIES, async (random) => {
        const limit = randomLimit(random, kind, random.chance(0.8) ? "small" : "wide");
        const time = new MicroClock(randomStart(random));
        const limiter = createLimiter({
          ...STORE_ALONE,
          name: "aimed",
          limits: limit,
          store: tested.open(time.clock),
        });
        const admissions: Admission[] = [];
        let last: Decision | undefined;
        for (let step = 0; step < LENGTH; step++) {
          const { wait, cost } = nextGreedyRequest(random, limit, time.now, last);
          time.advance(wait);
          last = await limiter.consume("sender", { cost });
          if (last.allowed) admissions.push({ at: time.now, cost });
        }
        const excess = findExcess(limit, admissions) ?? findExcessInOwnWindow(limit, admissions);
        claim(excess === undefined, () => `${excess}: ${JSON.stringify(limit)}`);
      });
    },
  );

  test.each(KINDS)("refunds and resets get no client more than %s guarantees", async (kind) => {
    await tested.run(HISTORIES, async (random) => {
      const limit = randomLimit(random, kind, "small");
      const time = new MicroClock(randomStart(random));
      const limiter = createLimiter({
        ...STORE_ALONE,
        name: "given",
        limits: limit,
        store: tested.open(time.clock),
      });
      await giveBack(random, limit, limiter, time, async () => {
        await limiter.reset("somebody else");
        await limiter.reset("sender");
      });
    });
  });
});

test.each(KINDS)("refunds and evictions get no client more than %s guarantees", async (kind) => {
  await runHistories(FORGETFUL, async (random) => {
    const limit = randomLimit(random, kind, "small");
    const time = new MicroClock(randomStart(random));
    const store = memoryStore({ clock: time.clock, maxKeys: 1 });
    const limiter = createLimiter({ ...STORE_ALONE, name: "given", limits: limit, store });
    await giveBack(random, limit, limiter, time, async () => {
      await limiter.consume("somebody else");
    });
  });
});

test.each(KINDS)(
  "a subject that has used %s is not evicted in favour of one that has not",
  async (kind) => {
    await runHistories(20 * SCALE, async (random) => {
      const limit = randomLimit(random, kind, "small");
      const time = new MicroClock(randomStart(random));
      const store = memoryStore({ clock: time.clock, maxKeys: 5 });
      const limiter = createLimiter({ ...STORE_ALONE, name: "spent", limits: limit, store });
      const [{ limit: most } = { limit: 1 }] = limiter.limits;
      // After a single request, the other limits have charged as much.
      if (most === 1) return;
      await limiter.consume("spender", { cost: most });
      for (let other = 0; other < 20; other++) await limiter.consume(`other ${other}`);
      expect(await limiter.peek("spender")).toMatchObject({ allowed: false, remaining: 0 });
    });
  },
);

/** Sends, and gives back what was admitted now and then; `forget` makes the store forget the sender, now and then. */
async function giveBack(
  random: Random,
  limit: Limit,
  limiter: Limiter,
  time: MicroClock,
  forget: () => Promise<void>,
): Promise<void> {
  const decisions: { readonly decision: Decision; readonly life: number }[] = [];
  /** The admissions that are still charged, for each generation of the sender's counter. */
  const lives: Map<Decision, Admission>[] = [new Map()];
  let last: Decision | undefined;
  for (let step = 0; step < LENGTH; step++) {
    const { wait, cost } = nextGreedyRequest(random, limit, time.now, last);
    time.advance(wait);
    if (random.chance(0.3) && decisions.length > 0) {
      const { decision, life } = random.pick(decisions.slice(-6));
      const given = await limiter.refund(decision);
      if (given) {
        claim(
          life === lives.length - 1,
          () => `refunded an earlier life: ${JSON.stringify(limit)}`,
        );
        lives[life]?.delete(decision);
      }
    } else if (random.chance(0.03)) {
      await forget();
      lives.push(new Map());
    }
    last = await limiter.consume("sender", { cost });
    if (last.allowed) {
      decisions.push({ decision: last, life: lives.length - 1 });
      lives.at(-1)?.set(last, { at: time.now, cost });
    }
  }
  for (const admissions of lives) {
    const excess = findExcess(limit, [...admissions.values()]);
    claim(excess === undefined, () => `${excess}: ${JSON.stringify(limit)}`);
  }
}
