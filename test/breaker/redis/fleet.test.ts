import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { Redis as Ioredis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import type { FleetProcess, Traffic } from "./start-fleet-process.ts";
import { startFleetProcess } from "./start-fleet-process.ts";
import { readStoredPeriod } from "./stored-period.ts";

const FLUSH_INTERVAL_MS = 250;
/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;
/** The longest that a process may use an outdated view. */
const STATED_MS = FLUSH_INTERVAL_MS + STORE_TIMEOUT_MS;
/** How often an open breaker reads the store, to see manual state changes. */
const LOOK_AGAIN_MS = 1_000;
/** What a busy machine adds to timers and to the pauses between calls. */
const NOISE_MS = 150;

const options = {
  name: "fleet",
  storeTimeout: STORE_TIMEOUT_MS,
  minimumCalls: 20,
  openFor: "1m",
} as const;
const key = `hg:{default}:breaker/${options.name}`;

let redis: Redis;
let failing: FleetProcess;
let others: FleetProcess[];

beforeAll(async () => {
  const socket = inject("redisSocket");
  redis = new Ioredis(socket);
  [failing, ...others] = (await Promise.all(
    Array.from({ length: 4 }, () => startFleetProcess(socket, options)),
  )) as [FleetProcess, ...FleetProcess[]];
});
afterAll(() => {
  for (const process of [failing, ...others]) process?.kill();
  redis.disconnect();
});
beforeEach(resetAll);

async function resetAll(): Promise<void> {
  await failing.reset();
  await waitUntil("all of them call again", 5_000, async () => {
    const answers = await Promise.all(others.map((process) => process.callOnce()));
    return answers.every(({ reached }) => reached) || undefined;
  });
}

/** When Redis opened or closed it, in milliseconds since the epoch. */
async function changedAt(): Promise<number> {
  const bytes = await redis.getBuffer(key);
  return readStoredPeriod(bytes ?? Buffer.alloc(0)).since / 1_000;
}

/** Lets the others call while something is done, and for a while after it. */
async function callMeanwhile(work: () => Promise<unknown>, whileMs: number): Promise<Traffic[]> {
  await Promise.all(others.map((process) => process.start()));
  await delay(50);
  await work();
  await delay(whileMs);
  return Promise.all(others.map((process) => process.stop()));
}

/** The first moments of a list that are not before a time. */
function since(time: number, moments: readonly number[]): readonly number[] {
  return moments.filter((moment) => moment >= time);
}

test("failures of one process protect the fleet within flushInterval and storeTimeout", async () => {
  for (let round = 0; round < 2; round += 1) {
    // Their successes of this round must not outweigh its failures.
    const traffic = await callMeanwhile(async () => {
      await failing.fail(500);
      await waitUntil("it is open", 10_000, async () => {
        const bytes = await redis.getBuffer(key);
        return bytes !== null && readStoredPeriod(bytes).state === "open" ? true : undefined;
      });
    }, STATED_MS + NOISE_MS);
    const opened = await changedAt();
    for (const { calls, refusals } of traffic) {
      const late = since(opened, calls).map((call) => call - opened);
      expect(Math.max(0, ...late)).toBeLessThan(STATED_MS + NOISE_MS);
      expect(since(opened, refusals).length).toBeGreaterThan(0);
    }
    console.log(
      traffic
        .map(({ calls }) => since(opened, calls))
        .map(
          (late) => `${late.length} calls up to ${Math.round((late.at(-1) ?? opened) - opened)} ms`,
        )
        .join(", "),
    );
    await resetAll();
  }
});

test("a new process reads the store before its first call", async () => {
  const socket = inject("redisSocket");
  const [before, after] = await Promise.all([
    startFleetProcess(socket, options),
    startFleetProcess(socket, options),
  ]);
  expect(await before.callOnce()).toEqual({ reached: true, answer: "upstream" });
  await failing.forceOpen();
  expect(await after.callOnce()).toEqual({ reached: false, answer: "fallback" });
  before.kill();
  after.kill();
});

test("a manual state change reaches other processes within a second", async () => {
  const traffic = await callMeanwhile(() => failing.forceOpen(), LOOK_AGAIN_MS);
  const opened = await changedAt();
  for (const { calls } of traffic) {
    expect(Math.max(0, ...since(opened, calls)) - opened).toBeLessThan(STATED_MS + NOISE_MS);
  }
  const again = await callMeanwhile(() => failing.reset(), LOOK_AGAIN_MS);
  const closed = await changedAt();
  for (const { refusals, calls } of again) {
    expect(Math.max(0, ...since(closed, refusals)) - closed).toBeLessThan(STATED_MS + NOISE_MS);
    expect(since(closed, calls).length).toBeGreaterThan(0);
  }
});

test("a reset of an open breaker reaches other processes within a second", async () => {
  await failing.fail(500);
  await waitUntil("the others are refused", 5_000, async () => {
    const answers = await Promise.all(others.map((process) => process.callOnce()));
    return answers.every(({ reached }) => !reached) || undefined;
  });
  const traffic = await callMeanwhile(() => failing.reset(), LOOK_AGAIN_MS + NOISE_MS);
  const closed = await changedAt();
  for (const { calls, refusals } of traffic) {
    expect(Math.max(closed, ...since(closed, refusals)) - closed).toBeLessThan(
      LOOK_AGAIN_MS + NOISE_MS,
    );
    expect(since(closed, calls).length).toBeGreaterThan(0);
  }
});
