import type { Decision, LimitState } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { useOwnDatabases } from "../../support/own-database.ts";
import { runHistories, SHARE } from "../random/histories.ts";
import { randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart, randomSubjects } from "../random/steps.ts";
import { MicroClock } from "../support/micro-clock.ts";

// Two clients stand for two processes, which learn of each other's refunds from the store only.
const [here, elsewhere] = useOwnDatabases(2) as [Redis, Redis];

/** The lifetime of a cached denial. */
const DENY_CACHE_US = 1_000_000n;

const DIMENSIONS = ["default", "tenant", "route"];

/** The fields that do not change while no request is admitted. */
function reported({ name, allowed, retryAfterMs, limit }: LimitState): object {
  return { name, allowed, retryAfterMs, limit };
}

interface Tally {
  cachedDenials: number;
  wrong: number;
}

let opened = 0;

/** Two processes use one policy; each cached denial is compared with a peek at the store. */
async function runHistory(random: Random, resetsElsewhere: boolean, tally: Tally): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const prefix = `denials-${++opened}`;
  const limits = randomPolicy(random, random.whole(1, 3), random.whole(1, 3));
  const dimensions = DIMENSIONS.filter((name) => limits.some(({ per }) => per === name));
  const ours = createLimiter({
    name: "api",
    limits,
    store: redisStore(here, { prefix, clock: time.clock }),
    storeTimeout: "1m",
  });
  const theirs = createLimiter({
    name: "api",
    limits,
    store: redisStore(elsewhere, { prefix, clock: time.clock }),
    storeTimeout: "1m",
    denyCache: false,
  });
  const isAlone = random.chance(0.5);
  let last: Decision | undefined;
  let resetAt = -DENY_CACHE_US;
  const charged: Decision[] = [];
  for (let i = 0; i < 40; i += 1) {
    time.advance(
      random.chance(0.7) ? BigInt(random.whole(0, 2_000)) : randomShortWait(random, last),
    );
    const subject = randomSubjects(random, dimensions);
    // Clients mostly repeat the same cost.
    const cost =
      last === undefined || random.chance(0.3) ? randomCost(random, last) : Number(last.cost);
    const peeked = await theirs.peek(subject, { cost });
    const decision = await ours.consume(subject, { cost });
    if (decision.source === "deny-cache") {
      tally.cachedDenials += 1;
      expect(decision.allowed).toBe(false);
      if (peeked.allowed) {
        tally.wrong += 1;
        expect(time.now - resetAt).toBeLessThan(DENY_CACHE_US);
      } else {
        // Later charges by other processes only prolong the wait; refunds shorten it.
        if (time.now - resetAt >= DENY_CACHE_US) {
          expect(decision.retryAfterMs).toBeLessThanOrEqual(peeked.retryAfterMs);
        }
        if (isAlone && !resetsElsewhere && dimensions.length === 1) {
          expect(decision.retryAfterMs).toBe(peeked.retryAfterMs);
          expect(decision.limits.map(reported)).toEqual(peeked.limits.map(reported));
        }
      }
    } else {
      expect(decision.source).toBe("store");
      expect(decision.allowed).toBe(peeked.allowed);
    }
    last = decision;
    if (decision.allowed) charged.push(decision);
    if (!isAlone && random.chance(0.2))
      await theirs.consume(subject, { cost: randomCost(random, last) });
    if (random.chance(0.15)) await refundHere(subject, cost);
    if (random.chance(0.1)) await chargeHere(subject);
    if (resetsElsewhere && random.chance(0.1)) {
      await theirs.reset(subject);
      resetAt = time.now;
    }
  }
  await Promise.all([ours.close(), theirs.close()]);

  /** A charge by this process takes effect at once, so no reported wait is too short. */
  async function chargeHere(subject: Record<string, string>): Promise<void> {
    const decision = charged.pop();
    if (decision !== undefined && random.chance(0.5)) {
      await ours.settle(decision, Number(decision.cost) + random.whole(1, 5));
    } else {
      await ours.charge(subject, { cost: random.whole(1, 5) });
    }
  }

  /** A refund or reset by this process takes effect at once: the store makes the next decision. */
  async function refundHere(subject: Record<string, string>, cost: number): Promise<void> {
    const decision = charged.pop();
    if (decision !== undefined && random.chance(0.7)) {
      await ours.refund(decision);
      return;
    }
    await ours.reset(subject);
    expect((await ours.consume(subject, { cost })).source).toBe("store");
  }
}

test("the deny cache denies no request that the store would admit unless another process refunds units", async () => {
  const tally = { cachedDenials: 0, wrong: 0 };
  await runHistories(100 * SHARE, (random) => runHistory(random, false, tally), 32);
  expect(tally.wrong).toBe(0);
  expect(tally.cachedDenials).toBeGreaterThan(200);
});

test("the deny cache denies for at most a second after a refund in another process", async () => {
  const tally = { cachedDenials: 0, wrong: 0 };
  await runHistories(100 * SHARE, (random) => runHistory(random, true, tally), 32);
  expect(tally.wrong).toBeGreaterThan(4);
});

test("the longest reportable wait does not shorten in the deny cache", async () => {
  const time = new MicroClock(1_800_000_000_000_000n);
  const limiter = createLimiter({
    name: "api",
    limits: gcra({ limit: 1_000, window: "366d" }),
    store: redisStore(here, { prefix: "longest", clock: time.clock }),
    storeTimeout: "1m",
  });
  await limiter.charge("ada", { cost: 400_000 });
  time.advance(1n);
  const report = async () => {
    const { source, retryAfterMs } = await limiter.consume("ada");
    return [source, retryAfterMs];
  };
  expect(await report()).toEqual(["store", 9_007_199_254_740]);
  time.advance(2_000n);
  expect(await report()).toEqual(["deny-cache", 9_007_199_254_740]);
  await limiter.close();
});

test("a cached denial does not report a limit that others have charged since", async () => {
  const time = new MicroClock(1_800_000_000_000_000n);
  const limiter = createLimiter({
    name: "api",
    limits: [
      fixedWindow({ limit: 1, window: "1h", per: "user", name: "own" }),
      fixedWindow({ limit: 3, window: "1h", per: "tenant", name: "all" }),
    ],
    store: redisStore(here, { prefix: "shared", clock: time.clock }),
    storeTimeout: "1m",
  });
  const ada = { user: "ada", tenant: "acme" };
  const report = ({ source, limits }: Decision) => [
    source,
    ...limits.map(({ name, remaining }) => [name, remaining]),
  ];
  await limiter.consume(ada);
  expect(report(await limiter.consume(ada))).toEqual(["store", ["own", 0], ["all", 2]]);
  time.advance(1n);
  expect(report(await limiter.consume(ada))).toEqual(["deny-cache", ["own", 0], ["all", 2]]);
  await limiter.consume({ user: "grace", tenant: "acme" });
  time.advance(1n);
  expect(report(await limiter.consume(ada))).toEqual(["deny-cache", ["own", 0]]);
  await limiter.close();
});
