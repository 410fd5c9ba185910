import type { BreakerOptions } from "@headgate/breaker";
import { memoryStore } from "@headgate/core";
import type { CountingStore, MemoryAccess, Operation } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import type { CountedOutcome } from "../../packages/breaker/src/machine/breaker-policy.ts";
import { callWindow } from "../../packages/breaker/src/machine/call-window.ts";
import type { BreakerState } from "../../packages/breaker/src/machine/period.ts";
import type {
  SetStateRequest,
  SyncRequest,
  TargetKeys,
} from "../../packages/breaker/src/machine/target.ts";
import { setTargetState, syncTarget } from "../../packages/breaker/src/machine/target.ts";
import { timeWindow } from "../../packages/breaker/src/machine/time-window.ts";
import { REPLY_SIZE, STATES } from "../../packages/breaker/src/machine/wire.ts";
import { readBreakerOptions } from "../../packages/breaker/src/read-options.ts";
import { composeScript } from "../../packages/core/src/scripts/compose-script.ts";
import { runHistories, SCALE } from "../conformance/random/histories.ts";
import type { Random } from "../conformance/random/random.ts";
import { randomStart } from "../conformance/random/steps.ts";
import { MicroClock } from "../conformance/support/micro-clock.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import type { RandomCall } from "./random-calls.ts";
import { randomCall } from "./random-calls.ts";
import type { KeysOfPlaces } from "./random-target.ts";
import { RandomTarget, randomPolicies } from "./random-target.ts";
import { randomStepBack, randomWait } from "./random-wait.ts";

const HISTORIES = 120 * SCALE;
const LENGTH = 60;

/** Each history waits for its own replies only, so that the server gets its requests in batches. */
const LANES = 64;

const redis = useOwnDatabase();

type Run = <Call>(step: Operation<Call>, call: Call) => Promise<readonly number[]>;

describe("Lua scripts and their twins", () => {
  test("a script on Redis and its twin in a memory store give equal replies", async () => {
    const seen = new Set<BreakerState>();
    await runHistories(
      HISTORIES,
      (random, history) => {
        const time = new MicroClock(randomStart(random));
        return compare(
          random,
          `store-${history}`,
          time,
          requireStore(memoryStore({ clock: time.clock })).run,
          seen,
        );
      },
      LANES,
    );
    expect(seen.size).toBe(STATES.length);
  });

  test("a script and its twin give equal replies when the clock steps back and only written values are kept", async () => {
    const seen = new Set<BreakerState>();
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

test("several calls in one script run like as many scripts with one call", async () => {
  /** How many calls in a row had equal arguments, of one target and of two. */
  const seen = new Set<string>();
  await runHistories(
    HISTORIES / 5,
    async (random, history) => {
      const time = new MicroClock(randomStart(random));
      const store = requireStore(redisStore(redis, { clock: time.clock }));
      const names = [0, 1].map((i) => `several-${history}-${i}`);
      const policies = randomPolicies(random);
      // Where the policies are the same, calls for both may have equal arguments.
      const targets = names.map(
        (name) => new RandomTarget(name, random.chance(0.5) ? policies : randomPolicies(random)),
      );
      for (let step = 0; step < LENGTH / 3; step++) {
        time.advance(randomWait(random, random.pick(targets).moments));
        const drawn = Array.from({ length: random.whole(1, 4) }, () =>
          drawRepeated(random, targets),
        );
        const calls = drawn.flat().filter(({ call }) => call.step === drawn[0]?.[0]?.call.step);
        // What each store calls periods and leases is read before either has learned of others.
        const [reported, reportedAlone] = [await reportAll(calls, 0), await reportAll(calls, 1)];
        const together = await runTogether(random, time, reported);
        for (const run of runsOf(reported)) {
          seen.add(`${Math.min(run.length, 3)} of ${new Set(run.map(({ keys }) => keys[0])).size}`);
        }
        for (const [i, { target, call }] of calls.entries()) {
          const alone = (await reportedAlone[i]?.runAlone(store)) ?? [];
          const explain = () => `${call.text}, ${i + 1} of ${calls.length} at ${time.now}`;
          target.learn([together[i] ?? [], alone], explain);
        }
      }
    },
    LANES,
  );
  expect([...seen].sort()).toEqual(["1 of 1", "2 of 1", "2 of 2", "3 of 1", "3 of 2"]);
});

/** A record without leases; and what is before each window. */
const PERIOD_WIDTH = 58;
const BEGAN_WIDTH = 7;

const TIME_WINDOW = { window: 1_000 };
const CALLS_WINDOW = { window: { calls: 3 } };

test.each([0, 1, 2 ** 48 - 3, 2 ** 48 - 2, 2 ** 48 - 1])(
  "a period that begins with the random number %i has a nonzero id of 6 bytes",
  async (generation) => {
    const target = targetOf(`begins-${generation}`, TIME_WINDOW);
    const now = 1_800_000_000_000_000;
    const call: SetStateRequest = {
      target,
      state: "open",
      durationMicros: 1,
      openings: 1,
      emptiesWindow: false,
    };
    const keys = setTargetState.keys(call);
    const [, , ...run] = setTargetState.encode([call], composeScript, "").args;
    const args = [...keys, `${now}`, generation, ...run];
    const reported = (await redis.eval(
      setTargetState.encode([call], composeScript, "").script.source,
      keys.length,
      ...args,
    )) as number[];
    const twin = setTargetState.runInMemory(call, tableOfCopies(), { now, generation });
    const kept = await requireStore(redisStore(redis, { clock: () => now / 1_000 })).run(
      syncTarget,
      {
        ...{
          target,
          admittedIn: "any",
          outcomes: undefined,
          endedTrial: undefined,
          requestsCall: false,
        },
      },
    );
    expect(twin).toEqual(reported);
    expect(kept.slice(0, 3)).toEqual(reported.slice(0, 3));
    expect(kept[2]).toBeGreaterThan(0);
    expect(kept[2]).toBeLessThan(2 ** 48);
  },
);

test.each([
  ["a period", "that is too short", TIME_WINDOW, "periodKey", bytesOf(1, PERIOD_WIDTH - 1)],
  ["a period", "with a byte of a lease", TIME_WINDOW, "periodKey", bytesOf(1, PERIOD_WIDTH + 1)],
  ["a period", "of a kind that there is not", TIME_WINDOW, "periodKey", periodOfKind(6)],
  [
    "a window of time",
    "that is too short",
    TIME_WINDOW,
    "windowKey",
    bytesOf(1, BEGAN_WIDTH + 623),
  ],
  ["a window of time", "that is too long", TIME_WINDOW, "windowKey", bytesOf(1, BEGAN_WIDTH + 625)],
  [
    "a window of calls",
    "that is too short",
    CALLS_WINDOW,
    "windowKey",
    bytesOf(1, BEGAN_WIDTH + 10),
  ],
  [
    "a window of calls",
    "that is too long",
    CALLS_WINDOW,
    "windowKey",
    bytesOf(1, BEGAN_WIDTH + 15),
  ],
] as const)("a script ignores the bytes of %s %s", async (_, what, options, key, bytes) => {
  const target = targetOf(`bytes-${what}`, options);
  const clock = () => 1_800_000_000_000;
  const request: SyncRequest = {
    target,
    admittedIn: "any",
    outcomes: undefined,
    endedTrial: undefined,
    requestsCall: true,
  };
  const expected = await requireStore(memoryStore({ clock })).run(syncTarget, request);
  await redis.set(target[key], bytes);
  expect(await requireStore(redisStore(redis, { clock })).run(syncTarget, request)).toEqual(
    expected,
  );
});

test.each(["periodKey", "windowKey"] as const)(
  "a %s of the wrong type is reported and not changed",
  async (key) => {
    const target = targetOf(`wrong-type-${key}`, TIME_WINDOW);
    const outcomes = target.policy.window.createBatch(target.policy.windowSize);
    outcomes.add("failure");
    await redis.lpush(target[key], "a list");
    const call: SyncRequest = {
      target,
      admittedIn: "any",
      outcomes,
      endedTrial: undefined,
      requestsCall: true,
    };
    const now = 1_800_000_000_000;
    const { run } = requireStore(redisStore(redis, { clock: () => now }));
    const nothing = [now * 1_000, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    expect(await run(syncTarget, call)).toEqual(nothing);
    expect(
      await run(setTargetState, {
        target,
        state: "open",
        durationMicros: 1,
        openings: 1,
        emptiesWindow: true,
      }),
    ).toEqual(nothing);
    expect(await redis.keys(`${target.periodKey}*`)).toEqual([target[key]]);
    expect(await redis.lrange(target[key], 0, -1)).toEqual(["a list"]);
  },
);

function targetOf(name: string, options: BreakerOptions): TargetKeys {
  const { policy } = readBreakerOptions(options);
  return { periodKey: `{${name}}`, windowKey: `{${name}}:window`, policy };
}

function bytesOf(first: number, length: number): Buffer {
  return Buffer.alloc(length, 1).fill(first, 0, 1);
}

/** A record that is valid but for its kind: of a period that goes on. */
function periodOfKind(kind: number): Buffer {
  const [expires, end] = [21, 28];
  return bytesOf(kind, PERIOD_WIDTH).fill(7, expires, end);
}

test("a batch encodes its outcomes in order for a window of calls, and as counts for a window of time", () => {
  const [ordered, counted] = [callWindow.createBatch(3), timeWindow.createBatch(1_000)];
  expect([`${ordered}`, ordered.size, `${counted}`, counted.size]).toEqual(["", 0, "0 0 0", 0]);
  const outcomes: readonly CountedOutcome[] = [
    "success",
    "failure",
    "slow-success",
    "slow-failure",
  ];
  for (let call = 1; call <= 99; call++) {
    const outcome = outcomes[call % 4] as CountedOutcome;
    ordered.add(outcome);
    counted.add(outcome);
    expect(ordered.size).toBeLessThanOrEqual(6);
    expect(ordered.size).toBeGreaterThanOrEqual(Math.min(call, 3));
    expect(counted.size).toBe(call);
  }
  expect([`${ordered}`, `${counted}`]).toEqual(["123", "99 50 50"]);
});

interface Drawn {
  readonly target: RandomTarget;
  readonly keys: KeysOfPlaces;
  readonly call: RandomCall;
}

/** A call, now and then several times in a row, for each target with the same policy. */
function drawRepeated(random: Random, targets: readonly RandomTarget[]): Drawn[] {
  const target = random.pick(targets);
  const keys = target.keys(random);
  const call = randomCall(random, target.reported, keys[0]);
  const drawn = [{ target, keys, call }];
  while (random.chance(0.3)) {
    const other = random.pick(targets);
    const places = other.keysBy(keys[0].policy);
    if (places !== undefined) drawn.push({ target: other, keys: places, call });
  }
  return drawn;
}

/** A call as a script gets it. */
interface ReportedCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly parameters: readonly (string | number)[];
  readonly replySize: number;
  runAlone(store: CountingStore): Promise<readonly number[]>;
}

/** Encodes calls for one of the two stores. */
async function reportAll(calls: readonly Drawn[], place: 0 | 1): Promise<ReportedCall[]> {
  const reported: ReportedCall[] = [];
  const collect: Run = async (operation, call) => {
    reported.push({
      script: operation.encode([call], composeScript, "").script.source,
      keys: operation.keys(call),
      parameters: operation.encode([call], composeScript, "").args.slice(3),
      replySize: REPLY_SIZE,
      runAlone: (store) => store.run(operation, call),
    });
    return [];
  };
  for (const { target, keys, call } of calls) {
    await call.run(collect, keys[place], target.names[place].idOf);
  }
  return reported;
}

/** Calls that follow each other with equal arguments. */
function runsOf(calls: readonly ReportedCall[]): ReportedCall[][] {
  const runs: ReportedCall[][] = [];
  for (const call of calls) {
    const run = runs.at(-1);
    if (`${run?.[0]?.parameters}` === `${call.parameters}`) run?.push(call);
    else runs.push([call]);
  }
  return runs;
}

/** Runs calls of one script as one call of that script. Returns the reply of each, behind the clock. */
async function runTogether(
  random: Random,
  time: MicroClock,
  calls: readonly ReportedCall[],
): Promise<readonly (readonly number[])[]> {
  const keys = calls.flatMap((call) => call.keys);
  const generation = random.whole(0, 2 ** 48 - 1);
  const args = runsOf(calls).flatMap((run) => [run.length, ...(run[0]?.parameters ?? [])]);
  const script = calls[0]?.script ?? "";
  const reply = await redis.eval(script, keys.length, ...keys, `${time.now}`, generation, ...args);
  const [clock, ...integers] = reply as [number, ...number[]];
  const replies = calls.map(({ replySize }) => [clock, ...integers.splice(0, replySize)]);
  expect(integers).toEqual([]);
  return replies;
}

/** Runs twins on a table that hands out copies, as Redis does, and on a clock that a store in memory would not follow. */
function keepInTable(time: MicroClock): Run {
  const table = tableOfCopies();
  let generation = 0;
  return async (operation, call) => {
    generation += 1;
    return operation.runInMemory(call, table, { now: Number(time.now), generation });
  };
}

function tableOfCopies(): MemoryAccess {
  const rows = new Map<string, object>();
  return {
    get: (_: string, key: string) => structuredClone(rows.get(key)),
    set: (_: string, key: string, __: object, value: object) =>
      rows.set(key, structuredClone(value)),
  } as unknown as MemoryAccess;
}

/** Runs the same random calls by a script and by its twin. */
async function compare(
  random: Random,
  name: string,
  time: MicroClock,
  runTwin: Run,
  seen: Set<BreakerState>,
  stepsBack = 0,
): Promise<void> {
  const runScript = requireStore(redisStore(redis, { clock: time.clock })).run;
  const target = new RandomTarget(name, randomPolicies(random));
  const { names } = target;
  for (let step = 0; step < LENGTH; step++) {
    time.advance(randomWait(random, target.moments));
    if (random.chance(stepsBack)) time.now -= randomStepBack(random, time.now);
    const keys = target.keys(random);
    const call = randomCall(random, target.reported, keys[0]);
    const twin = await call.run(runTwin, keys[0], names[0].idOf);
    const script = await call.run(runScript, keys[1], names[1].idOf);
    target.learn(
      [twin, script],
      () => `${call.text} at ${time.now}, ${keys[0].policy.description}`,
    );
    seen.add(target.reported.state);
  }
}
