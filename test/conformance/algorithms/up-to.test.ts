import type { Decision, Limit, Limiter } from "@headgate/core";
import { concurrency, createLimiter, gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { useOwnDatabase } from "../../support/own-database.ts";
import { historiesOf, runHistories, runsAllHistories, SHARE } from "../random/histories.ts";
import { KINDS, randomLimit, randomPolicy, withRandomBlocks } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import {
  randomBlock,
  randomCost,
  randomStart,
  randomSubjects,
  randomWait,
} from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { compareExact, createOperationCounts } from "../support/compare-exact.ts";
import { MicroClock } from "../support/micro-clock.ts";

/*
 * A request for up to n units gets the largest cost up to n that the limits allow, and is charged and reported as a request of that
 * cost. The oracle searches for that cost; a Redis store decides as a memory store does, also in batches.
 */

const LENGTH = 400;
const HISTORIES = 40 * SHARE;

const done = createOperationCounts();

describe("memoryStore grants as many units as the oracle", () => {
  test.each(KINDS)("of %s", async (kind) => {
    await runHistories(HISTORIES, (random) =>
      compare(random, [randomLimit(random, kind, random.chance(0.4) ? "small" : "wide")]),
    );
  });

  test("of several limits in several dimensions", async () => {
    await runHistories(2 * HISTORIES, (random) =>
      compare(random, randomPolicy(random, random.whole(2, 6), 3)),
    );
  });

  test("of limits that block, in shadow mode and beside manual blocks", async () => {
    await runHistories(2 * HISTORIES, (random) => {
      const limits = withRandomBlocks(random, randomPolicy(random, random.whole(1, 3), 2));
      return compare(random, limits, { blocks: true });
    });
  });

  test("beside a concurrency limit, which gives one slot", async () => {
    await runHistories(HISTORIES, (random) =>
      compare(random, withSlots(random, randomPolicy(random, random.whole(1, 3), 2))),
    );
  });
});

test("the comparison covers tens of thousands of requests that are granted in part", ({ skip }) => {
  skip(!runsAllHistories, "one history is run alone");
  skip(done.requests === 0, "the other tests of this file were not run");
  expect(done.requestsGrantedInPart).toBeGreaterThan(8_000 * SHARE);
  expect(done.settled).toBeGreaterThan(8_000 * SHARE);
  expect(done.requestsBlocked).toBeGreaterThan(1_000 * SHARE);
});

function compare(random: Random, limits: readonly Limit[], { blocks = false } = {}): Promise<void> {
  return compareExact(
    random,
    limits,
    {
      length: LENGTH,
      wait: (last, oracle) => randomWait(random, last, oracle.changeTimes),
      cost: (last) => randomCost(random, last),
      charges: random.chance(0.6),
      changes: random.chance(0.3),
      upTo: true,
      releases: true,
      ...(blocks && { shadow: true, block: (last: Decision) => randomBlock(random, last) }),
    },
    done,
  );
}

function withSlots(random: Random, limits: readonly Limit[]): Limit[] {
  const slots = concurrency({ limit: random.whole(1, 20), ttl: "1m", name: "slots" });
  return random.shuffle([...limits, slots]);
}

describe("Redis grants as many units as memory", () => {
  const redis = useOwnDatabase();
  const on = { redis: historiesOf(20, 1_000), length: 60 };
  let opened = 0;

  test.each(KINDS)("of %s", async (kind) => {
    await runHistories(
      on.redis,
      (random) => twins(random, [randomLimit(random, kind, "small")]),
      64,
    );
  });

  test("of several limits in several dimensions, which may block, notify and give slots", async () => {
    await runHistories(
      2 * on.redis,
      (random) => {
        const written = randomPolicy(random, random.whole(1, 5), 3);
        const blocking = random.chance(0.5) ? withRandomBlocks(random, written) : written;
        const notifying = blocking.map((limit) =>
          random.chance(0.3) ? ({ ...limit, notifyAt: [0.5, 0.8] } as Limit) : limit,
        );
        return twins(random, random.chance(0.3) ? withSlots(random, notifying) : notifying);
      },
      64,
    );
  });

  test("of a hundred limits, whose names do not fit into local variables", async () => {
    await runHistories(1, (random) =>
      twins(
        random,
        Array.from({ length: 100 }, (_, i) =>
          i % 3 === 0
            ? gcra({ limit: 50 + i, window: "1h", name: `${i}` })
            : randomLimit(random, random.pick(KINDS), "wide", { name: `${i}` }),
        ),
      ),
    );
  });

  /** Sends the same requests, some at once, to a limiter in memory and one on Redis. */
  async function twins(random: Random, limits: readonly Limit[]): Promise<void> {
    const time = new MicroClock(randomStart(random));
    const prefix = `up-to-${++opened}`;
    const stores = [
      memoryStore({ clock: time.clock }),
      redisStore(redis, { clock: time.clock, prefix }),
    ];
    const [inMemory, onRedis] = stores.map((store) =>
      createLimiter({ ...STORE_ALONE, name: "twin", limits, store }),
    ) as [Limiter, Limiter];
    const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
    let last: Decision | undefined;
    for (let step = 0; step < on.length; step += 1) {
      time.advance(randomWait(random, last, []));
      const requests = Array.from({ length: random.pick([1, 1, 2, 6]) }, () => {
        const subjects = randomSubjects(random, dimensions);
        const units = randomCost(random, last);
        const isFixed = random.chance(0.3);
        const isPeek = random.chance(0.2);
        const send = (limiter: Limiter): Promise<Decision> => {
          if (isFixed) return limiter.consume(subjects, { cost: units });
          return isPeek
            ? limiter.peek(subjects, { upTo: units })
            : limiter.consume(subjects, { upTo: units });
        };
        return { send, text: () => JSON.stringify({ subjects, units, isFixed, isPeek, limits }) };
      });
      const [expected, decided] = await Promise.all([
        Promise.all(requests.map(({ send }) => send(inMemory))),
        Promise.all(requests.map(({ send }) => send(onRedis))),
      ]);
      requests.forEach(({ text }, i) => {
        const [own, other] = [expected[i], decided[i]] as [Decision, Decision];
        claimSame(other, own, text);
        claim(
          other.granted === own.granted,
          () => `${other.granted} is not ${own.granted}: ${text()}`,
        );
      });
      last = expected.at(-1);
    }
    await Promise.all([inMemory.close(), onRedis.close()]);
  }
});
