import { setImmediate as nextTurn } from "node:timers/promises";
import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { CountingStore } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { SyncRequest } from "../../../packages/breaker/src/machine/target.ts";
import { syncTarget } from "../../../packages/breaker/src/machine/target.ts";
import { readBreakerOptions } from "../../../packages/breaker/src/read-options.ts";
import { watchWarnings } from "../../http/support/warnings.ts";
import { readCommandStats, resetCommandStats } from "../../redis/command-stats.ts";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { waitUntil } from "../../support/wait-until.ts";

let server: RedisProcess;
let redis: Redis;
let admin: Redis;
let store: CountingStore;
const started: Breaker<string>[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.socket);
  admin = new Redis(server.socket);
});
afterAll(async () => {
  redis.disconnect();
  admin.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await admin.flushall();
  store = requireStore(redisStore(redis));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((breaker) => breaker.close()));
});

/** A breaker that keeps nothing back, and asks the store for each call. */
function start(name: string, options: Partial<BreakerOptions<string>> = {}): Breaker<string> {
  const breaker = createBreaker<string>({
    ...{ name, store, storeTimeout: "1m", flushInterval: 0, ...options },
  });
  started.push(breaker);
  return breaker;
}

/** How many scripts the server ran while something was done. It has them already, so that each is sent once. */
async function scriptsOf(work: () => Promise<unknown>): Promise<number> {
  await resetCommandStats(admin);
  await work();
  return (await readCommandStats(admin, "evalsha")).calls;
}

const TWELVE = Array.from({ length: 12 }, (_, i) => i);

describe("batching", () => {
  test("concurrent requests of several breakers run in one script", async () => {
    const breakers = TWELVE.map((i) =>
      start(`breaker-${i}`, { minimumCalls: 1 + (i % 3), window: i % 2 ? "1m" : { calls: 9 } }),
    );
    await breakers[0]?.snapshot();
    const scripts = await scriptsOf(() =>
      Promise.all(
        breakers.map((breaker, i) => (i % 2 ? breaker.record("failure") : breaker.admit())),
      ),
    );
    expect(scripts).toBe(1);
    const snapshots = await Promise.all(breakers.map((breaker) => breaker.snapshot()));
    expect(snapshots).toMatchObject(
      TWELVE.map((i) => ({
        state: i % 6 === 3 ? "open" : "closed",
        failures: i % 2,
        degraded: false,
      })),
    );
  });

  test("close sends the outcomes of all targets in one script", async () => {
    const breaker = start("closing", { flushInterval: "1m" });
    await breaker.snapshot();
    for (const i of TWELVE) {
      for (let calls = 0; calls <= i; calls += 1)
        await breaker.for(`target-${i}`).record("success");
    }
    expect(await scriptsOf(() => breaker.close())).toBe(1);
    const later = start("closing", { flushInterval: "1m" });
    const snapshots = await Promise.all(TWELVE.map((i) => later.for(`target-${i}`).snapshot()));
    expect(snapshots.map(({ calls }) => calls)).toEqual(TWELVE.map((i) => i + 1));
  });

  test("concurrent manual state changes run in one script", async () => {
    const breakers = TWELVE.map((i) => start(`order-${i}`));
    await breakers[0]?.reset();
    const scripts = await scriptsOf(() =>
      Promise.all(breakers.map((one, i) => (i % 2 ? one.disable() : one.forceOpen()))),
    );
    expect(scripts).toBe(1);
    const snapshots = await Promise.all(breakers.map((breaker) => breaker.snapshot()));
    expect(snapshots.map(({ state }) => state)).toEqual(
      TWELVE.map((i) => (i % 2 ? "disabled" : "forced-open")),
    );
  });
});

describe("requests for one target in one script", () => {
  test("a request in a script is decided by the outcomes before it", async () => {
    const { policy } = readBreakerOptions({ minimumCalls: 3 });
    const target = { periodKey: "{order}", windowKey: "{order}:window", policy };
    const fail = (): SyncRequest => {
      const outcomes = policy.window.createBatch(policy.windowSize);
      outcomes.add("failure");
      return { target, admittedIn: "any", outcomes, endedTrial: undefined, requestsCall: false };
    };
    const ask = (): SyncRequest => ({ ...fail(), outcomes: undefined, requestsCall: true });
    await store.run(syncTarget, { ...ask(), requestsCall: false });
    const calls = [fail(), fail(), ask(), ask(), fail(), ask()];
    let replies: (readonly number[])[] = [];
    const scripts = await scriptsOf(async () => {
      replies = await Promise.all(calls.map((call) => store.run(syncTarget, call)));
    });
    expect(scripts).toBe(1);
    const [STATE, CALLS, DECISION] = [1, 8, 11] as const;
    const [CLOSED, OPEN] = [0, 1] as const;
    expect(replies.map((reply) => [reply[STATE], reply[CALLS], reply[DECISION]])).toEqual([
      [CLOSED, 1, 0],
      [CLOSED, 2, 0],
      [CLOSED, 2, -1],
      [CLOSED, 2, -1],
      [OPEN, 3, 0],
      [OPEN, 3, 0],
    ]);
  });

  test("requests in one script share the trial slots", async () => {
    let now = 1_800_000_000_000;
    store = requireStore(redisStore(redis, { clock: () => now }));
    const breaker = start("probing", { minimumCalls: 1, trialCalls: 3, openFor: "30s" });
    await breaker.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "open" });
    now += 30_000;
    const asked: Awaited<ReturnType<typeof breaker.admit>>[] = [];
    const scripts = await scriptsOf(async () => {
      asked.push(...(await Promise.all(TWELVE.map(() => breaker.admit()))));
    });
    expect(scripts).toBe(1);
    expect(asked.map(({ allowed }) => allowed)).toEqual(TWELVE.map((i) => i < 3));
    const [first, second, third] = asked;
    await Promise.all([first?.record("success"), second?.record("success")]);
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
    await third?.record("success");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
  });
});

test("a key of the wrong type degrades only its own target of a script", async () => {
  watchWarnings();
  const breakers = ["well", "wrong-type", "fine"].map((name) => start(name));
  await breakers[0]?.snapshot();
  await admin.lpush("hg:{default}:breaker/wrong-type", "a list");
  const scripts = await scriptsOf(() =>
    Promise.all(breakers.map((breaker) => breaker.record("failure"))),
  );
  expect(scripts).toBe(1);
  const snapshots = await Promise.all(breakers.map((breaker) => breaker.snapshot()));
  expect(snapshots.map(({ degraded }) => degraded)).toEqual([false, true, false]);
  expect(snapshots.map(({ failures }) => failures)).toEqual([1, 1, 1]);
});

describe("requests that time out in the queue", () => {
  /** Sixteen scripts of 64 are as many as may be under way: what comes after them waits. */
  const UNDER_WAY = 16 * 64;

  let proxy: TcpProxy;
  let far: Redis;
  beforeEach(async () => {
    watchWarnings();
    proxy = await startTcpProxy({ socket: server.socket });
    far = new Redis(proxy.port, "127.0.0.1");
    await far.ping();
  });
  afterEach(async () => {
    far.disconnect();
    await proxy.close();
  });

  test.each([
    ["a report", (breaker: Breaker<string>) => breaker.snapshot()],
    ["an admission", (breaker: Breaker<string>) => breaker.admit()],
  ])("a request that times out in the queue still reports its outcomes: %s", async (_, give) => {
    // The server has the script.
    const others = start("waits");
    await others.snapshot();
    const away = requireStore(redisStore(far));
    const busy = start("busy", { store: away, storeTimeout: 100 });
    const waits = start("waits", { store: away, storeTimeout: 100, flushInterval: "1m" });
    proxy.hold("replies");
    const recorded = Array.from({ length: UNDER_WAY }, () => busy.record("success"));
    await nextTurn();
    await waits.record("failure");
    expect(await give(waits)).toMatchObject({ degraded: true });
    await Promise.all(recorded);
    expect(await others.snapshot()).toMatchObject({ calls: 0 });
    proxy.pass();
    await waitUntil("it is counted", 5_000, async () => {
      const { failures } = await others.snapshot();
      return failures === 1 || undefined;
    });
    expect(await start("busy").snapshot()).toMatchObject({ calls: UNDER_WAY, failures: 0 });
  });
});
