import type { Limit } from "@headgate/core";
import { gcra, memoryStore, slidingLog } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { decide, operationFor, peek } from "../../../packages/core/src/operations/decide.ts";
import type {
  DecideMode,
  StoreDecision,
} from "../../../packages/core/src/operations/decide-call.ts";
import { compileLimiterPolicy } from "../../../packages/core/src/policy/compiled-policy.ts";
import type { SubjectCounter } from "../../../packages/core/src/policy/counters.ts";
import { countersOf } from "../../../packages/core/src/policy/counters.ts";
import { useOwnDatabase } from "../../support/own-database.ts";
import { historiesOf, runHistories } from "../random/histories.ts";
import { KINDS, randomLimit, randomPolicy } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomStart, randomSubjects } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { decisionText } from "../support/decision-text.ts";
import { MicroClock } from "../support/micro-clock.ts";

/*
 * A decision over several hash slots of a cluster inspects each of them before it charges any. Lua and TypeScript report the same
 * numbers in the mode "inspect", these are the present state of the limits, and nothing changes.
 */

const HISTORIES = historiesOf(25, 1_500);
const LENGTH = 75;

const redis = useOwnDatabase();

describe("memory and Redis decide alike", () => {
  test.each(KINDS)("for %s", async (kind) => {
    await runHistories(
      HISTORIES,
      (random, history) =>
        compare(random, `${kind} ${history}`, [randomLimit(random, kind, "small")]),
      64,
    );
  });

  test("for several limits in several dimensions", async () => {
    await runHistories(
      HISTORIES,
      (random, history) =>
        compare(random, `policy ${history}`, randomPolicy(random, random.whole(2, 5), 3)),
      64,
    );
  });
});

test("peek creates no Redis key and modifies none", async () => {
  const time = new MicroClock(1_800_000_000_000_000n);
  const store = requireStore(redisStore(redis, { clock: time.clock, prefix: "inspected" }));
  const limits = [slidingLog({ limit: 5, window: "1h" }), gcra({ limit: 6, window: "1h" })];
  const counted = compileLimiterPolicy("untouched", limits, store);
  const counters = countersOf(counted, "u");
  const keys = () => redis.keys("inspected:*");
  await store.run(peek, { cost: 1, mode: "inspect", counters });
  expect(await keys()).toEqual([]);
  await store.run(decide, { cost: 1, mode: "charge", counters });
  const dumps = async () => Promise.all((await keys()).toSorted().map((key) => redis.dump(key)));
  const before = await dumps();
  time.advance(1_000_000n);
  await store.run(peek, { cost: 1, mode: "inspect", counters });
  expect(before).toHaveLength(2);
  expect(await dumps()).toEqual(before);
});

async function compare(random: Random, name: string, limits: readonly Limit[]): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const memory = requireStore(memoryStore({ clock: time.clock }));
  const stores = [memory, requireStore(redisStore(redis, { clock: time.clock }))] as const;
  // Keys of a remote store serve in memory, too.
  const counted = compileLimiterPolicy(name, limits, stores[1]);
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  const run = (mode: DecideMode, counters: readonly SubjectCounter[], cost: number) => {
    const [inMemory, onRedis] = stores;
    const call = { cost, mode, counters };
    return Promise.all([
      inMemory.run(operationFor(mode), call),
      onRedis.run(operationFor(mode), call),
    ]);
  };
  for (let step = 0; step < LENGTH; step += 1) {
    const subjects = randomSubjects(random, dimensions);
    const counters = countersOf(counted, subjects as never);
    const most = Math.min(...counted.limits.map(({ limit }) => limit));
    const cost = random.magnitude(1, most + 1);
    const context = () => `step ${step}, cost ${cost}, of ${JSON.stringify(limits)}`;
    const [inMemory, onRedis] = await run("inspect", counters, cost);
    const text = decisionText(inMemory);
    claim(
      text === decisionText(onRedis),
      () => `${text} is not ${decisionText(onRedis)}, ${context()}`,
    );
    // A second inspection reports the same: the first one charged nothing and created no key.
    const [again, againOnRedis] = await run("inspect", counters, cost);
    claim(
      text === decisionText(again),
      () => `then ${decisionText(again)} in memory, ${context()}`,
    );
    claim(
      text === decisionText(againOnRedis),
      () => `then ${decisionText(againOnRedis)}, ${context()}`,
    );
    // A charge is allowed exactly if the inspection was, and leaves the reported units less the cost.
    const [charged, chargedOnRedis] = await run("charge", counters, cost);
    const { allowed } = inMemory;
    claim(
      decisionText(charged) === decisionText(chargedOnRedis),
      () => `${decisionText(charged)} is not ${decisionText(chargedOnRedis)}, ${context()}`,
    );
    claim(
      charged.allowed === allowed,
      () => `charging says ${decisionText(charged)}, ${context()}`,
    );
    const before = remainingIn(inMemory);
    for (const [i, left] of remainingIn(charged).entries()) {
      const reported = before[i] as number;
      const expected = allowed ? reported - cost : reported;
      claim(left === expected, () => `${reported} were reported, ${left} are left, ${context()}`);
    }
    time.advance(BigInt(random.chance(0.3) ? 0 : random.whole(0, 900_000)));
  }
}

/** The units that remain in each limit. */
function remainingIn({ counters }: StoreDecision): number[] {
  return counters.flatMap(({ limits }) => limits.map(({ remaining }) => remaining));
}
