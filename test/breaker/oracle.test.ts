import type { Snapshot } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Clock, Store } from "@headgate/core";
import { test } from "vitest";
import type { Random } from "../conformance/random/random.ts";
import { randomStart } from "../conformance/random/steps.ts";
import { claim } from "../conformance/support/claim.ts";
import { MicroClock } from "../conformance/support/micro-clock.ts";
import { describeRedisStore, describeStores } from "../conformance/support/stores-under-test.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { openWindow } from "./model-rules.ts";
import type { Called, Counts } from "./oracle-window.ts";
import type { RandomOptions } from "./random-breaker.ts";
import { randomCallsWindow, randomTimeWindow } from "./random-breaker.ts";
import { randomStepBack, randomWait } from "./random-wait.ts";

/** Each counts some hundred outcomes. */
const HISTORIES = 56;
const LENGTH = 60;

const SLOW_CALL_MS = 1_000;
const { storeTimeout } = STORE_ALONE;

const WINDOWS = [
  ["a window of time", randomTimeWindow],
  ["a window of calls", randomCallsWindow],
] as const;

describeStores((tested) => {
  test.each(WINDOWS)("%s has the counts of a list of all outcomes", async (_, randomWindow) => {
    await tested.run(HISTORIES, (random) =>
      compare(random, randomWindow(random), (clock) => tested.open(clock)),
    );
  });
});

describeRedisStore((tested) => {
  test.each(WINDOWS)(
    "%s has the counts of a list of all outcomes on a clock that steps back",
    async (_, randomWindow) => {
      await tested.run(HISTORIES, (random) =>
        compare(random, randomWindow(random), (clock) => tested.open(clock), 0.1),
      );
    },
  );
});

/** Tells the same outcomes to a breaker and to a list that keeps each of them. */
async function compare(
  random: Random,
  window: RandomOptions["window"],
  open: (clock: Clock) => Store,
  stepsBack = 0,
): Promise<void> {
  const time = new MicroClock(randomStart(random));
  const oracle = openWindow({
    window: typeof window === "number" ? { time: BigInt(window) * 1_000n } : window,
  });
  const breaker = createBreaker({
    name: "compared",
    store: open(time.clock),
    storeTimeout,
    window,
    minimumCalls: 1,
    slowCall: SLOW_CALL_MS,
    // Mostly each outcome by itself, else what came between two looks at once.
    flushInterval: random.chance(0.6) ? 0 : "1m",
  });
  let failing = 0.5;
  for (let step = 0; step < LENGTH; step++) {
    const wait = randomWait(random, edges(window, time.now));
    time.advance(wait);
    if (random.chance(stepsBack)) time.now -= randomStepBack(random, time.now);
    if (random.chance(0.2)) failing = random.fraction();
    // Whatever comes, it goes on counting; by hand, as long as it is contacted once in six days.
    if (step === 0 || wait > 500_000_000_000n) await breaker.metricsOnly();
    const reported = Array.from({ length: randomNumber(random) }, () =>
      randomCalled(random, failing),
    );
    await Promise.all(reported.map((called) => record(called)));
    for (const called of reported) oracle.add(called, time.now);
    claimCounts(
      await breaker.snapshot(),
      oracle.counts(time.now),
      () => `step ${step} at ${time.now}, ${JSON.stringify(window)}`,
    );
  }
  await breaker.close();

  function record({ failed, slow }: Called): Promise<void> {
    return breaker.record(failed ? "failure" : "success", SLOW_CALL_MS * (slow ? 2 : 0.5));
  }
}

function randomCalled(random: Random, failing: number): Called {
  return { failed: random.chance(failing), slow: random.chance(failing) };
}

function randomNumber(random: Random): number {
  if (random.chance(0.005)) return random.whole(900, 1_200);
  return random.pick([0, 1, 1, 1, 2, random.whole(3, 40)]);
}

/** Microseconds to where sub-windows of a window begin, and to where all is forgotten. */
function edges(window: RandomOptions["window"], now: bigint): bigint[] {
  const day = 86_400_000_000n;
  if (typeof window !== "number") return [day];
  const size = BigInt(window) * 20n;
  const next = size - (now % size);
  return [next, next + size, next + 48n * size, next + 49n * size, 50n * size, 49n * size];
}

function claimCounts(actual: Snapshot, expected: Counts, explain: () => string): void {
  const { calls, failures, slow } = expected;
  const same =
    actual.state === "metrics-only" &&
    !actual.degraded &&
    actual.calls === calls &&
    actual.failures === failures &&
    actual.successes === calls - failures &&
    actual.slowCalls === slow &&
    actual.successRate === (calls === 0 ? null : (calls - failures) / calls) &&
    actual.slowCallRate === (calls === 0 ? null : slow / calls);
  claim(same, () => `${JSON.stringify({ actual, expected })} ${explain()}`);
}
