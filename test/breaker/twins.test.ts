import { memoryStore } from "@headgate/core";
import type { MemoryTable, Step } from "@headgate/core/floors";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { readBreakerOptions } from "../../packages/breaker/src/breaker-options.ts";
import { STATES } from "../../packages/breaker/src/machine/period.ts";
import type { TargetKeys } from "../../packages/breaker/src/machine/target.ts";
import { claim } from "../conformance/claim.ts";
import { runHistories, SCALE } from "../conformance/histories.ts";
import { MicroClock } from "../conformance/micro-clock.ts";
import type { Random } from "../conformance/random.ts";
import { randomStart } from "../conformance/random-steps.ts";
import { randomBreaker } from "./random-breaker.ts";
import { ANSWER, KIND, LEFT, PERIOD, randomCall } from "./random-contacts.ts";
import { randomStepBack, randomWait } from "./random-wait.ts";

const HISTORIES = 500 * SCALE;
const LENGTH = 60;

/** Each history waits for its own replies only, so that the server gets its requests in batches. */
const LANES = 64;

const redis = new Redis(inject("redisSocket"), { db: 2 });
beforeAll(() => redis.flushdb());
afterAll(async () => {
  await redis.flushdb();
  await redis.quit();
});

type Run = <Call>(step: Step<Call>, call: Call) => Promise<readonly number[]>;

describe("a script and its twin give equal replies", () => {
  test("in a memory store", async () => {
    const seen = new Set<number>();
    await runHistories(
      HISTORIES,
      (random, history) => {
        const time = new MicroClock(randomStart(random));
        return compare(
          random,
          `store-${history}`,
          time,
          memoryStore({ clock: time.clock }).run,
          seen,
        );
      },
      LANES,
    );
    expect(seen.size).toBe(STATES.length);
  });

  test("when the clock steps back, and of what a call leaves only what it says to keep is kept", async () => {
    const seen = new Set<number>();
    await runHistories(
      HISTORIES,
      (random, history) => {
        const time = new MicroClock(randomStart(random));
        return compare(random, `table-${history}`, time, keepInTable(time), seen, 0.05);
      },
      LANES,
    );
    expect(seen.size).toBe(STATES.length);
  });
});

/** Runs twins on a table that hands out copies, as Redis does, and on a clock that a store in memory would not follow. */
function keepInTable(time: MicroClock): Run {
  const rows = new Map<string, object>();
  const table = {
    get: (key: string) => structuredClone(rows.get(key)),
    set: (key: string, value: object) => rows.set(key, structuredClone(value)),
  } as unknown as MemoryTable;
  let birth = 0;
  return async (step, call) => {
    birth += 1;
    return step.twin(call, table, { now: Number(time.now), birth });
  };
}

/** Runs the same random calls by a script and by its twin. */
async function compare(
  random: Random,
  name: string,
  time: MicroClock,
  runTwin: Run,
  seen: Set<number>,
  stepsBack = 0,
): Promise<void> {
  const runScript = redisStore(redis, { clock: time.clock }).run;
  const { options } = randomBreaker(random);
  const { policy } = readBreakerOptions(options);
  const target: TargetKeys = { periodKey: `{${name}}`, windowKey: `{${name}}:window`, policy };
  const [ofTwin, ofScript] = [new Names(), new Names()];
  let told = { periods: [] as number[], leases: [] as number[], kind: 0 };
  let left = 0n;
  for (let step = 0; step < LENGTH; step++) {
    const day = 86_400_000_000n;
    const size = BigInt(policy.window.kind === "time" ? policy.size : day);
    time.advance(
      randomWait(random, [left, left, size, size / 50n, BigInt(policy.lease), day, 6n * day]),
    );
    if (random.chance(stepsBack)) time.now -= randomStepBack(random, time.now);
    const call = randomCall(random, told, target);
    const replies = await Promise.all([
      call.run(runTwin, target, ofTwin.idOf),
      call.run(runScript, target, ofScript.idOf),
    ]);
    const [twin, script] = [ofTwin.rename(replies[0]), ofScript.rename(replies[1])];
    claim(
      twin.length === script.length && twin.every((number, i) => number === script[i]),
      () => `${call.text} at ${time.now}: twin ${twin}, script ${script}, ${policy.description}`,
    );
    const period = twin[PERIOD] as number;
    const answer = twin[ANSWER] as number;
    told = {
      kind: twin[KIND] as number,
      periods: told.periods.includes(period) ? told.periods : [...told.periods, period],
      leases: answer > 0 ? [...told.leases, answer] : told.leases,
    };
    left = BigInt(twin[LEFT] as number);
    seen.add(told.kind);
  }
}

/** Numbers for the periods and leases of one store, in the order in which it told of them. */
class Names {
  readonly #ids: number[] = [0];

  /** The store's own number for one; one that no store knows for a number that was not told. */
  readonly idOf = (number: number): number => this.#ids[number] ?? 12_345;

  rename(reply: readonly number[]): number[] {
    return reply.map((value, place) =>
      place === PERIOD || (place === ANSWER && value > 0) ? this.#numberOf(value) : value,
    );
  }

  #numberOf(id: number): number {
    const known = this.#ids.indexOf(id);
    return known === -1 ? this.#ids.push(id) - 1 : known;
  }
}
