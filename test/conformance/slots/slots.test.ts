import type { Clock, Decision, Limit, Limiter } from "@headgate/core";
import { concurrency, createLimiter, memoryStore } from "@headgate/core";
import type { CountingStore } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { decide } from "../../../packages/core/src/operations/decide.ts";
import type {
  CounterDecision,
  LimitDecision,
} from "../../../packages/core/src/operations/decide-call.ts";
import { slotsOperation } from "../../../packages/core/src/operations/slots.ts";
import { compileLimiterPolicy } from "../../../packages/core/src/policy/compiled-policy.ts";
import type { SubjectCounter } from "../../../packages/core/src/policy/counters.ts";
import { countersOf } from "../../../packages/core/src/policy/counters.ts";
import { newHolder } from "../../../packages/core/src/scripts/digits.ts";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { useOwnDatabase } from "../../support/own-database.ts";
import { OracleSlots } from "../oracle/slots.ts";
import { runHistories, runsAllHistories, SHARE } from "../random/histories.ts";
import { randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomStart, randomSubjects } from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { MicroClock } from "../support/micro-clock.ts";

const CONCURRENT_HISTORIES = 32;
const LENGTH = 60;
/** Each policy loads its own scripts, so there are fewer and longer histories. */
const TWINS_LENGTH = 200;
/** The bytes of one stored slot. */
const RECORD_BYTES = 15;

/** The compared operations are counted, so that the comparison does not shrink by accident. */
const compared = { requests: 0, renewalsAndReleases: 0, inBatches: 0 };
const LEAST = { requests: 56_000, renewalsAndReleases: 224_000, inBatches: 8_000 };

const redis = useOwnDatabase();

interface SlotLimit {
  readonly limit: number;
  readonly ttlMs: number;
}

function randomSlotLimit(random: Random): SlotLimit {
  const limit = random.chance(0.7) ? random.whole(1, 6) : random.whole(7, 40);
  return { limit, ttlMs: random.pick([1, 7, 1_000, 60_000, 366 * 86_400_000]) };
}

/** Microseconds between steps: mostly few, sometimes about the time to live of a slot. */
function randomPause(random: Random, ttlMs: number): bigint {
  if (random.chance(0.3)) return 0n;
  const ttl = ttlMs * 1_000;
  if (random.chance(0.3)) return BigInt(random.pick([ttl - 1, ttl, ttl + 1]));
  return BigInt(Math.floor((random.fraction() * ttl) / 4));
}

function counterOn(
  store: CountingStore,
  name: string,
  { limit, ttlMs }: SlotLimit,
): SubjectCounter {
  const counted = compileLimiterPolicy(name, concurrency({ limit, ttl: ttlMs }), store);
  return countersOf(counted, "ann")[0] as SubjectCounter;
}

/** Requests a slot, and returns the reported wait in microseconds and the free slots. */
async function requestSlot(store: CountingStore, counter: SubjectCounter, holder: string) {
  const mode = "charge" as const;
  const { now, counters } = await store.run(decide, { cost: 1, mode, holder, counters: [counter] });
  const [{ limits }] = counters as [CounterDecision];
  const [{ wait, remaining, resetAfter, refillAfter }] = limits as [LimitDecision];
  return { now, wait, remaining, times: [resetAfter, refillAfter] };
}

function renewOrRelease(
  store: CountingStore,
  counter: SubjectCounter,
  holders: string[],
  renews: boolean,
) {
  return store.run(slotsOperation, { counters: [counter], holders, renews });
}

/** Compares random operations on slots in some stores with the oracle. */
async function compareWithOracle(
  random: Random,
  name: string,
  open: (clock: Clock) => readonly CountingStore[],
): Promise<void> {
  const slotLimit = randomSlotLimit(random);
  const time = new MicroClock(randomStart(random));
  const stores = open(time.clock);
  const counters = stores.map((store) => counterOn(store, name, slotLimit));
  const oracle = new OracleSlots(BigInt(slotLimit.ttlMs) * 1_000n);
  const holders: string[] = [];
  const onEach = <T>(work: (store: CountingStore, counter: SubjectCounter) => Promise<T>) =>
    Promise.all(stores.map((store, i) => work(store, counters[i] as SubjectCounter)));
  for (let step = 0; step < LENGTH; step += 1) {
    time.advance(randomPause(random, slotLimit.ttlMs));
    const { now } = time;
    const context = () => `step ${step} at ${now} of ${JSON.stringify(slotLimit)}`;
    if (random.chance(0.5)) {
      const last = holders.at(-1);
      const again = last !== undefined && oracle.isHeld(last, now) && random.chance(0.1);
      const holder = again ? last : newHolder();
      const isAllowed = again || oracle.countHeld(now) < slotLimit.limit;
      if (isAllowed) oracle.hold(holder, now);
      if (isAllowed && !again) holders.push(holder);
      const expected = {
        now: Number(now),
        wait: isAllowed ? 0 : 1_000_000,
        remaining: slotLimit.limit - oracle.countHeld(now),
        times: [0, 0],
      };
      const answers = await onEach(async (store, counter) => {
        // A Redis client may resend a call without a reply, which renews the slot.
        if (!again || store.transport !== undefined) return requestSlot(store, counter, holder);
        await renewOrRelease(store, counter, [holder], true);
        return expected;
      });
      for (const answer of answers) claimEqual(answer, expected, context);
      compared.requests += answers.length;
    } else {
      const renews = random.chance(0.5);
      const some = random.shuffle([...holders.slice(-20), newHolder()]).slice(0, 5);
      const expected = some.map((holder) => oracle.isHeld(holder, now));
      for (const holder of some) {
        if (!renews) oracle.release(holder);
        else if (oracle.isHeld(holder, now)) oracle.hold(holder, now);
      }
      const answers = await onEach((store, counter) =>
        renewOrRelease(store, counter, some, renews),
      );
      for (const areHeld of answers) claimEqual(areHeld, expected, context);
      compared.renewalsAndReleases += answers.length * some.length;
    }
    for (const [i, { transport }] of stores.entries()) {
      if (transport === undefined) continue;
      const record = await redis.getrange(`${counters[i]?.key}:log0`, 0, -1);
      claim(
        record.length <= slotLimit.limit * RECORD_BYTES,
        () => `${record.length} bytes, ${context()}`,
      );
    }
  }
}

function claimEqual(actual: unknown, expected: unknown, context: () => string): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    expect(actual, context()).toEqual(expected);
  }
}

/** A cost by name. The first limit is never free, so that one limit is charged. */
function randomCostByName(random: Random, limits: readonly Limit[]): Record<string, number> {
  return Object.fromEntries(
    limits.map(({ name = "" }, i) => [name, random.whole(i === 0 ? 1 : 0, 3)]),
  );
}

/** Compares random operations of a limiter on memoryStore with one on Redis. */
async function compareTwins(random: Random, name: string, limits: readonly Limit[]): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const twins = [
    requireStore(memoryStore({ clock: time.clock })),
    requireStore(redisStore(redis, { clock: time.clock })),
  ].map((store) => createLimiter({ ...STORE_ALONE, name, limits, store })) as [Limiter, Limiter];
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  const admitted: [Decision, Decision][] = [];
  for (let step = 0; step < TWINS_LENGTH; step += 1) {
    time.advance(randomPause(random, 1_000));
    const subjects = randomSubjects(random, dimensions);
    const act = random.fraction();
    const context = () => `step ${step} at ${time.now} of ${JSON.stringify(limits)}`;
    const both = <T>(work: (limiter: Limiter, i: 0 | 1) => Promise<T>) =>
      Promise.all([work(twins[0], 0), work(twins[1], 1)]);
    if (act < 0.3 && admitted.length > 0) {
      const pair = random.pick(admitted.slice(-8));
      const operation = random.pick(["release", "release", "refund"] as const);
      const results = await both((limiter, i) => limiter[operation](pair[i]));
      claim(results[0] === results[1], () => `${operation}: ${results}, ${context()}`);
    } else if (act < 0.35) {
      await both((limiter) => limiter.charge(subjects));
    } else if (act < 0.38) {
      await both((limiter) => limiter.reset(subjects));
    } else if (act < 0.42) {
      const span = random.pick([0, 0, 1, 100, 60_000]);
      const blocked = await both((limiter) =>
        span > 0 ? limiter.block(subjects, span).then(() => true) : limiter.unblock(subjects),
      );
      claim(blocked[0] === blocked[1], () => `${span}: ${blocked}, ${context()}`);
    } else {
      const charge = act < 0.9;
      const isByName = random.chance(0.3);
      // Concurrent calls with different limits have no defined order.
      const count = isByName || random.chance(0.5) ? 1 : random.whole(2, 12);
      const requests = Array.from({ length: count }, () => ({
        subjects: randomSubjects(random, dimensions),
        cost: isByName
          ? randomCostByName(random, limits)
          : random.pick(charge ? [1, 1, 2] : [0, 1, 2]),
      }));
      const answers = await both((limiter) =>
        Promise.all(
          requests.map((request) =>
            (charge ? limiter.consume : limiter.peek)(request.subjects, { cost: request.cost }),
          ),
        ),
      );
      for (const [at, inMemory] of answers[0].entries()) {
        const onRedis = answers[1][at] as Decision;
        claimSame(onRedis, inMemory, context);
        if (charge && inMemory.allowed) admitted.push([inMemory, onRedis]);
      }
      compared.requests += count;
      if (count > 1) compared.inBatches += count;
    }
  }
}

describe("slots in memory and in Redis", () => {
  test("slots follow their definition to the microsecond, and never exceed the stored limit", async () => {
    await runHistories(
      48 * SHARE,
      (random, history) =>
        compareWithOracle(random, `oracle ${history}`, (clock) => [
          requireStore(memoryStore({ clock })),
          requireStore(redisStore(redis, { clock })),
        ]),
      CONCURRENT_HISTORIES,
    );
  });

  test("slots in memory follow their definition for very many holders", async () => {
    await runHistories(1_600 * SHARE, (random) =>
      compareWithOracle(random, "oracle", (clock) => [requireStore(memoryStore({ clock }))]),
    );
  });

  test("memory and Redis decide slots alike in every field, alone and with other limits", async () => {
    await runHistories(
      32 * SHARE,
      (random, history) => {
        const others = random.chance(0.3) ? [] : randomPolicy(random, random.whole(1, 2), 2);
        const limits = Array.from({ length: random.whole(1, 2) }, (_, i) =>
          concurrency({
            limit: random.whole(1, 4),
            ttl: random.pick([1_000, 5_000]),
            name: `slots ${i}`,
            per: random.pick(["default", "tenant"]),
          }),
        );
        return compareTwins(random, `twins ${history}`, random.shuffle([...limits, ...others]));
      },
      CONCURRENT_HISTORIES,
    );
  });
});

test("a clock that steps back neither prolongs nor ends a slot", async () => {
  await runHistories(
    24 * SHARE,
    async (random, history) => {
      const slotLimit = { limit: random.whole(1, 4), ttlMs: 1_000 };
      const time = new MicroClock(randomStart(random));
      const store = requireStore(redisStore(redis, { clock: time.clock }));
      const counter = counterOn(store, `back ${history}`, slotLimit);
      const holders = Array.from({ length: slotLimit.limit }, newHolder);
      for (const holder of holders) {
        expect(await requestSlot(store, counter, holder)).toMatchObject({ wait: 0 });
        time.advance(BigInt(random.whole(0, 100)));
      }
      const back = BigInt(random.magnitude(1_000, 3_600_000_000));
      time.now = back < time.now ? time.now - back : 0n;
      // After a step back, the store treats slots as taken now.
      expect(await requestSlot(store, counter, newHolder())).toMatchObject({ wait: 1_000_000 });
      expect(await renewOrRelease(store, counter, holders, true)).toEqual(holders.map(() => true));
      time.advance(999_999n);
      expect(await requestSlot(store, counter, newHolder())).toMatchObject({ wait: 1_000_000 });
      time.advance(1n);
      expect(await requestSlot(store, counter, newHolder())).toMatchObject({ wait: 0 });
    },
    CONCURRENT_HISTORIES,
  );
});

test("the comparison covers enough operations", ({ skip }) => {
  skip(!runsAllHistories, "one history is run alone");
  skip(compared.inBatches === 0, "the other tests of this file were not run");
  for (const [operation, least] of Object.entries(LEAST)) {
    const times = compared[operation as keyof typeof compared];
    expect(times, operation).toBeGreaterThanOrEqual(least * SHARE);
  }
});
