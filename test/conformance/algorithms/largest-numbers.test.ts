import type { Decision, Limit } from "@headgate/core";
import { expect, test } from "vitest";
import type { Kind } from "../random/limits.ts";
import { KINDS, largestOf, randomLimit, withOtherValues } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart } from "../random/steps.ts";
import type { Admission } from "../support/admissions.ts";
import { findExcess } from "../support/admissions.ts";
import { claim } from "../support/claim.ts";
import { claimNoLessRoom, startsWithRequest } from "../support/claim-no-less-room.ts";
import { DeployedLimiter } from "../support/deployed-limiter.ts";
import { nextGreedyRequest } from "../support/greedy-sender.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { StoreUnderTest } from "../support/stores-under-test.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * While several limits apply to one counter, as in a rolling deploy, no order of requests gets more than a limit with the largest
 * of each number grants.
 */

const HISTORIES = 16;

/** The refunds that must succeed to prove something; Redis runs a quarter of the histories. */
const LANDED = HISTORIES / 10;
const SUBJECT = "sender";

/** More histories, since draining under one limit and refunding under another can go wrong in more ways. */
function historiesOf(kind: Kind): number {
  return kind === "gcra" || kind === "tokenBucket" ? HISTORIES * 4 : HISTORIES;
}

describeStores((tested) => {
  test.each(KINDS)(
    "%s with the largest numbers admits no more than it guarantees",
    async (kind) => {
      let given = 0;
      await tested.run(historiesOf(kind), async (random) => {
        const landed = await aimAtAll(tested, random, kind);
        given += landed;
      });
      expect(given).toBeGreaterThan(LANDED);
    },
  );

  test.each(KINDS)(
    "%s: whoever gets something gets it of the largest numbers too",
    async (kind) => {
      let given = 0;
      await tested.run(historiesOf(kind), async (random) => {
        const landed = await compare(tested, random, kind);
        given += landed;
      });
      expect(given).toBeGreaterThan(LANDED);
    },
  );
});

/**
 * Simulates a sender that tries each of the limits in turn until one admits, takes all units left, returns when one of them
 * refills, and refunds what it can. Returns the number of successful refunds.
 */
async function aimAtAll(tested: StoreUnderTest, random: Random, kind: Kind): Promise<number> {
  const limits = differentNumbers(random, kind);
  const largest = largestOf(limits);
  const time = new MicroClock(randomStart(random));
  const deployed = new DeployedLimiter(tested.open(time.clock), [limits[0]]);
  const isGenerous = random.chance(0.6);
  const admissions = new Map<Decision, Admission>();
  const lasts = new Map<Limit, Decision>();
  let given = 0;
  for (let step = 0; step < 40; step++) {
    const aimedAt = random.pick(limits);
    const { wait, cost } = nextGreedyRequest(random, aimedAt, time.now, lasts.get(aimedAt));
    time.advance(wait);
    for (const limit of [aimedAt, ...random.shuffle(limits)]) {
      await deployed.deploy([limit]);
      const decision = await deployed.consume(SUBJECT, cost);
      lasts.set(limit, decision);
      if (!decision.allowed) continue;
      admissions.set(decision, { at: time.now, cost });
      break;
    }
    // Some time after the last request, before the next one.
    if (random.chance(0.5)) time.advance(random.pick([0n, 1n, wait / 8n]));
    if (isGenerous && admissions.size > 0 && random.chance(0.4)) {
      const decision = random.pick([...admissions.keys()].slice(-6));
      // Maybe after it was deployed once more.
      await deployed.deploy([random.pick(limits)]);
      if (await deployed.refund(decision)) {
        admissions.delete(decision);
        given += 1;
      }
    }
  }
  const excess = findExcess(largest, [...admissions.values()]);
  claim(excess === undefined, () => `${excess}: ${JSON.stringify(limits)}`);
  return given;
}

/**
 * Sends requests to a limit whose numbers change, and the admitted ones to a limit with the largest of each number. Some go to the
 * first limit only, which refunds them later. The first must never have more room. Returns the number of successful refunds.
 */
async function compare(tested: StoreUnderTest, random: Random, kind: Kind): Promise<number> {
  const limits = differentNumbers(random, kind);
  const largest = [largestOf(limits)];
  const time = new MicroClock(randomStart(random));
  const changing = new DeployedLimiter(tested.open(time.clock), [limits[0]]);
  const roomy = new DeployedLimiter(tested.open(time.clock), largest);
  const doubtful: Decision[] = [];
  /** The end of the window that the first refundable request may have started. The limits compare until then. */
  let end: bigint | undefined;
  let given = 0;
  let last: Decision | undefined;
  for (let step = 0; step < 30; step++) {
    time.advance(randomShortWait(random, last));
    if (end !== undefined && time.now >= end) break;
    if (random.chance(0.4)) await changing.deploy([random.pick(limits)]);
    const cost = randomCost(random, last);
    last = await changing.consume(SUBJECT, cost);
    if (last.allowed && random.chance(0.3)) {
      doubtful.push(last);
      if (largest.some(startsWithRequest))
        end ??= time.now + BigInt(last.resetAfterMs) * 1_000n - 999n;
    } else if (last.allowed) {
      const { allowed } = await roomy.consume(SUBJECT, cost);
      claim(
        allowed,
        () => `the largest numbers deny ${cost}, at ${time.now} of ${JSON.stringify(limits)}`,
      );
    }
    if (doubtful.length > 0 && random.chance(0.4)) {
      if (random.chance(0.3)) await changing.deploy([random.pick(limits)]);
      const [decision] = doubtful.splice(random.whole(0, doubtful.length - 1), 1);
      if (await changing.refund(decision as Decision)) given += 1;
    }
    const probe = randomCost(random, last);
    const [more, less] = [await roomy.peek(SUBJECT, probe), await changing.peek(SUBJECT, probe)];
    claimNoLessRoom(more, less, limits.slice(0, 1));
  }
  return given;
}

/** Limits of one shape. */
function differentNumbers(random: Random, kind: Kind): [Limit, ...Limit[]] {
  const limit = randomLimit(random, kind, random.chance(0.8) ? "small" : "wide");
  const others = Array.from({ length: random.whole(1, 2) }, () => withOtherValues(random, limit));
  return [limit, ...others];
}
