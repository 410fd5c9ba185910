import type { Decision, Limit, Limiter, Store } from "@headgate/core";
import { concurrency, createLimiter, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { compileCountedPolicy } from "../../packages/core/src/limiter/counted-policy.ts";
import type { SubjectCounter } from "../../packages/core/src/limiter/counters.ts";
import { countersOf } from "../../packages/core/src/limiter/counters.ts";
import { newHolder } from "../../packages/core/src/scripts/digits.ts";
import { decide } from "../../packages/core/src/store/decide.ts";
import { places } from "../../packages/core/src/store/places.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { claim, claimSame } from "./claim.ts";
import { runHistories, SCALE } from "./histories.ts";
import { MicroClock } from "./micro-clock.ts";
import { OraclePlaces } from "./oracle-places.ts";
import type { Random } from "./random.ts";
import { randomPolicy } from "./random-limits.ts";
import { randomStart, randomSubjects } from "./random-steps.ts";

const LANES = 32;
const LENGTH = 60;
/** Bytes of a place on record. */
const RECORD = 15;

const redis = useOwnDatabase();

interface Numbers {
  readonly limit: number;
  readonly ttlMs: number;
}

function randomNumbers(random: Random): Numbers {
  const limit = random.chance(0.7) ? random.whole(1, 6) : random.whole(7, 40);
  return { limit, ttlMs: random.pick([1, 7, 1_000, 60_000, 366 * 86_400_000]) };
}

/** Microseconds: mostly little, now and then about as long as places last. */
function randomRest(random: Random, ttlMs: number): bigint {
  if (random.chance(0.3)) return 0n;
  const ttl = ttlMs * 1_000;
  if (random.chance(0.3)) return BigInt(random.pick([ttl - 1, ttl, ttl + 1]));
  return BigInt(Math.floor((random.fraction() * ttl) / 4));
}

function counterOn(store: Store, name: string, { limit, ttlMs }: Numbers): SubjectCounter {
  const counted = compileCountedPolicy(name, concurrency({ limit, ttl: ttlMs }), store);
  return countersOf(counted, "ann")[0] as SubjectCounter;
}

/** What is answered to somebody who asks for a place: microseconds to wait, and the places left. */
async function ask(store: Store, counter: SubjectCounter, holder: string) {
  const mode = "charge" as const;
  const reply = await store.run(decide, { cost: 1, mode, holder, counters: [counter] });
  const [now, , , wait, remaining, ...times] = reply as [number, number, number, number, number];
  return { now, wait, remaining, times };
}

async function tend(store: Store, counter: SubjectCounter, holders: string[], renews: boolean) {
  const [, ...areThere] = await store.run(places, { counter, holders, renews });
  return areThere.map((isThere) => isThere === 1);
}

/** Does random things with places in this process and in Redis, and compares both with the definition. */
async function compareWithOracle(random: Random, name: string): Promise<void> {
  const numbers = randomNumbers(random);
  const time = new MicroClock(randomStart(random));
  const stores = [memoryStore({ clock: time.clock }), redisStore(redis, { clock: time.clock })];
  const counters = stores.map((store) => counterOn(store, name, numbers));
  const oracle = new OraclePlaces(numbers.limit, numbers.ttlMs);
  const holders: string[] = [];
  const onBoth = <T>(work: (store: Store, counter: SubjectCounter) => Promise<T>) =>
    Promise.all(stores.map((store, i) => work(store, counters[i] as SubjectCounter)));
  for (let step = 0; step < LENGTH; step += 1) {
    time.advance(randomRest(random, numbers.ttlMs));
    const { now } = time;
    const context = () => `step ${step} at ${now} of ${JSON.stringify(numbers)}`;
    if (random.chance(0.5)) {
      const last = holders.at(-1);
      const again = last !== undefined && oracle.isHeld(last, now) && random.chance(0.1);
      const holder = again ? last : newHolder();
      const isAllowed = again || oracle.hasRoom(now);
      if (isAllowed) oracle.hold(holder, now);
      if (isAllowed && !again) holders.push(holder);
      const expected = {
        now: Number(now),
        wait: isAllowed ? 0 : 1_000_000,
        remaining: numbers.limit - oracle.taken(now),
        times: [0, 0],
      };
      const answers = await onBoth(async (store, counter) => {
        // A client of Redis that had no answer may send the call again, which is as good as a renewal.
        if (!again || store.remote !== undefined) return ask(store, counter, holder);
        await tend(store, counter, [holder], true);
        return expected;
      });
      for (const answer of answers) expect(answer, context()).toEqual(expected);
    } else {
      const renews = random.chance(0.5);
      const some = random.shuffle([...holders.slice(-20), newHolder()]).slice(0, 5);
      const expected = some.map((holder) => oracle.isHeld(holder, now));
      for (const holder of some) {
        if (!renews) oracle.leave(holder);
        else if (oracle.isHeld(holder, now)) oracle.hold(holder, now);
      }
      for (const areThere of await onBoth((store, counter) => tend(store, counter, some, renews))) {
        expect(areThere, context()).toEqual(expected);
      }
    }
    const record = await redis.getrange(`${counters[1]?.key}:log0`, 0, -1);
    claim(record.length <= numbers.limit * RECORD, () => `${record.length} bytes, ${context()}`);
  }
}

/** What some limits cost, by name; the first of them something, so that one is asked. */
function randomCostByName(random: Random, limits: readonly Limit[]): Record<string, number> {
  return Object.fromEntries(
    limits.map(({ name = "" }, i) => [name, random.whole(i === 0 ? 1 : 0, 3)]),
  );
}

/** Does the same random things with a limiter in this process and one on Redis. */
async function compareTwins(random: Random, name: string, limits: readonly Limit[]): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const twins = [memoryStore({ clock: time.clock }), redisStore(redis, { clock: time.clock })].map(
    (store) => createLimiter({ ...STORE_ALONE, name, limits, store }),
  ) as [Limiter, Limiter];
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  const admitted: [Decision, Decision][] = [];
  for (let step = 0; step < 30; step += 1) {
    time.advance(randomRest(random, 1_000));
    const subjects = randomSubjects(random, dimensions);
    const act = random.fraction();
    const context = () => `step ${step} at ${time.now} of ${JSON.stringify(limits)}`;
    const both = <T>(work: (limiter: Limiter, i: 0 | 1) => Promise<T>) =>
      Promise.all([work(twins[0], 0), work(twins[1], 1)]);
    if (act < 0.3 && admitted.length > 0) {
      const pair = random.pick(admitted);
      const what = random.pick(["release", "release", "refund"] as const);
      const given = await both((limiter, i) => limiter[what](pair[i]));
      claim(given[0] === given[1], () => `${what}: ${given}, ${context()}`);
    } else if (act < 0.35) {
      await both((limiter) => limiter.charge(subjects));
    } else if (act < 0.4) {
      await both((limiter) => limiter.reset(subjects));
    } else {
      const charge = act < 0.9;
      const cost = random.chance(0.4)
        ? randomCostByName(random, limits)
        : random.pick(charge ? [1, 1, 2] : [0, 1, 2]);
      const pair = await both((limiter) =>
        (charge ? limiter.consume : limiter.peek)(subjects, { cost }),
      );
      claimSame(pair[1], pair[0], context);
      if (charge && pair[0].allowed) admitted.push(pair);
    }
  }
}

describe("places in this process and in Redis", () => {
  test("are what they are by definition, to the microsecond, and never more than the limit on record", async () => {
    await runHistories(
      120 * SCALE,
      (random, history) => compareWithOracle(random, `oracle ${history}`),
      LANES,
    );
  });

  test("are decided alike, alone and beside other limits, in every field", async () => {
    await runHistories(
      200 * SCALE,
      (random, history) => {
        const others = random.chance(0.3) ? [] : randomPolicy(random, random.whole(1, 2), 2);
        const limits = Array.from({ length: random.whole(1, 2) }, (_, i) =>
          concurrency({
            limit: random.whole(1, 4),
            ttl: random.pick([1_000, 5_000]),
            name: `places ${i}`,
            per: random.pick(["default", "tenant"]),
          }),
        );
        return compareTwins(random, `twins ${history}`, random.shuffle([...limits, ...others]));
      },
      LANES,
    );
  });
});

test("a clock that steps back holds no place for longer than it lasts, and takes none away", async () => {
  await runHistories(
    60 * SCALE,
    async (random, history) => {
      const numbers = { limit: random.whole(1, 4), ttlMs: 1_000 };
      const time = new MicroClock(randomStart(random));
      const store = redisStore(redis, { clock: time.clock });
      const counter = counterOn(store, `back ${history}`, numbers);
      const holders = Array.from({ length: numbers.limit }, newHolder);
      for (const holder of holders) {
        expect(await ask(store, counter, holder)).toMatchObject({ wait: 0 });
        time.advance(BigInt(random.whole(0, 100)));
      }
      const back = BigInt(random.magnitude(1_000, 3_600_000_000));
      time.now = back < time.now ? time.now - back : 0n;
      // Whoever finds the clock behind takes the places as of now.
      expect(await ask(store, counter, newHolder())).toMatchObject({ wait: 1_000_000 });
      expect(await tend(store, counter, holders, true)).toEqual(holders.map(() => true));
      time.advance(999_999n);
      expect(await ask(store, counter, newHolder())).toMatchObject({ wait: 1_000_000 });
      time.advance(1n);
      expect(await ask(store, counter, newHolder())).toMatchObject({ wait: 0 });
    },
    LANES,
  );
});
