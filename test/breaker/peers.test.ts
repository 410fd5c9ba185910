import { EventEmitter } from "node:events";
import { createBreaker } from "@headgate/breaker";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { circuitBreaker, handleAll, SamplingBreaker } from "cockatiel";
import { Redis } from "ioredis";
import Opossum from "opossum";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { waitUntil } from "../support/wait-until.ts";
import { HangingUpstream } from "./hanging-upstream.ts";

/*
 * What other breakers get wrong, shown on them, and beside it the same calls through ours. A test of a peer that fails
 * after an update is good news: the comparison in docs/how-to/guard-an-upstream.md then changes.
 */

const START = 1_800_000_000_000;
const SECOND = 1_000;
const HOUR = 3_600_000;

/** Nothing is collected, so that each outcome is counted when its call ends; a busy machine makes no store late. */
const AT_ONCE = { name: "peers", flushInterval: 0, storeTimeout: "1m" } as const;

describe("20 of 20 calls fail, after longer than the window of 10 s", () => {
  /**
   * opossum compares `volumeThreshold` with the calls that began within the window, and the failures that ended within
   * it: `stats.fires < volumeThreshold` in `fail` of lib/circuit.js. Both counters go to the bucket of their own moment.
   */
  test.each([
    { title: "opens if they fail at once", rotations: 0, opened: true },
    { title: "stays closed if they fail ten buckets later", rotations: 10, opened: false },
  ])("opossum $title", async ({ rotations, opened }) => {
    const buckets = new EventEmitter();
    const upstream = new HangingUpstream();
    const breaker = new Opossum(upstream.call, {
      timeout: false,
      rollingCountTimeout: 10 * SECOND,
      rollingCountBuckets: 10,
      volumeThreshold: 20,
      rotateBucketController: buckets,
      enableSnapshots: false,
    });
    const calls = Promise.allSettled(Array.from({ length: 20 }, () => breaker.fire()));
    for (let i = 0; i < rotations; i += 1) buckets.emit("rotate");
    upstream.fail();
    await calls;
    expect(breaker.stats).toMatchObject({ failures: 20, fires: opened ? 20 : 0 });
    expect(breaker.opened).toBe(opened);
    breaker.shutdown();
  });

  test("Headgate opens after calls longer than its window, because a call counts when it ends", async () => {
    let now = START;
    const upstream = new HangingUpstream();
    const breaker = createBreaker({
      ...AT_ONCE,
      store: memoryStore({ clock: () => now }),
      window: "10s",
      minimumCalls: 20,
    });
    const calls = Promise.allSettled(Array.from({ length: 20 }, () => breaker.run(upstream.call)));
    await waitUntil("all calls are under way", 5_000, () => upstream.calls === 20 || undefined);
    now += 12 * SECOND;
    upstream.fail();
    await calls;
    expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 20, failures: 20 });
    await breaker.close();
  });
});

describe("four failures, an idle hour, then one failure in five calls, with a window of 10 s", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /**
   * SamplingBreaker is a ring of sub-windows, and `push` moves on by one of them however long it was quiet. `failure`
   * then adds up all of the ring without a look at its age.
   */
  test("cockatiel opens for failures that are an hour old", async () => {
    vi.useFakeTimers({ now: START, toFake: ["Date"] });
    const breaker = circuitBreaker(handleAll, {
      halfOpenAfter: 30 * SECOND,
      // At least 5 calls in 10 s.
      breaker: new SamplingBreaker({ threshold: 0.5, duration: 10 * SECOND, minimumRps: 0.5 }),
    });
    const opened = vi.fn();
    breaker.onBreak(opened);
    for (let i = 0; i < 4; i += 1) await expect(breaker.execute(fail)).rejects.toThrow("upstream");
    vi.setSystemTime(START + HOUR);
    for (let i = 0; i < 4; i += 1) await breaker.execute(succeed);
    expect(opened).not.toHaveBeenCalled();
    await expect(breaker.execute(fail)).rejects.toThrow("upstream");
    expect(opened).toHaveBeenCalledOnce();
  });

  test("Headgate stays closed after an idle hour and one failure in five calls", async () => {
    let now = START;
    const breaker = createBreaker({
      ...AT_ONCE,
      store: memoryStore({ clock: () => now }),
      window: "10s",
      minimumCalls: 5,
    });
    for (let i = 0; i < 4; i += 1) await expect(breaker.run(fail)).rejects.toThrow("upstream");
    now += HOUR;
    for (let i = 0; i < 4; i += 1) await breaker.run(succeed);
    await expect(breaker.run(fail)).rejects.toThrow("upstream");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 5, failures: 1 });
    await breaker.close();
  });
});

/** Each breaker stands for a process: the peers' share nothing in one process either. */
describe("half-open, in a fleet of 8 processes that make 4 calls each", () => {
  const PROCESSES = 8;
  const CALLS = 4;

  describe("peers", () => {
    beforeEach(() => {
      vi.useFakeTimers({ now: START, toFake: ["Date", "setTimeout", "clearTimeout"] });
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    /** `pendingClose` of lib/circuit.js lets one call through, of this object. */
    test("a fleet of 8 processes with opossum makes 8 trial calls", async () => {
      const upstream = new HangingUpstream();
      const fleet = Array.from({ length: PROCESSES }, () => {
        const breaker = new Opossum(upstream.call, { timeout: false, resetTimeout: 30 * SECOND });
        breaker.open();
        return breaker;
      });
      vi.advanceTimersByTime(30 * SECOND);
      const calls = Promise.allSettled(
        fleet.flatMap((breaker) => Array.from({ length: CALLS }, () => breaker.fire())),
      );
      expect(upstream.calls).toBe(PROCESSES);
      upstream.succeed();
      await calls;
      for (const breaker of fleet) breaker.shutdown();
    });

    /** `executeHalfOpen` counts the calls under way of this object; the default of `halfOpenSampling` is one. */
    test("a fleet of 8 processes with cockatiel makes 8 trial calls", async () => {
      const upstream = new HangingUpstream();
      const fleet = await Promise.all(
        Array.from({ length: PROCESSES }, async () => {
          const breaker = circuitBreaker(handleAll, {
            halfOpenAfter: 30 * SECOND,
            breaker: new SamplingBreaker({ threshold: 0.5, duration: SECOND, minimumRps: 1 }),
          });
          await expect(breaker.execute(fail)).rejects.toThrow("upstream");
          return breaker;
        }),
      );
      vi.setSystemTime(START + 30 * SECOND);
      const calls = fleet.flatMap((breaker) =>
        Array.from({ length: CALLS }, () => breaker.execute(upstream.call)),
      );
      expect(upstream.calls).toBe(PROCESSES);
      upstream.succeed();
      // The others waited for the trial to end; they reach the upstream now.
      await new Promise(setImmediate);
      expect(upstream.calls).toBe(PROCESSES * CALLS);
      upstream.succeed();
      await Promise.all(calls);
    });
  });

  test("a fleet of 8 processes with Headgate makes `trialCalls` trial calls, here 1", async () => {
    let now = START;
    const upstream = new HangingUpstream();
    const clients = Array.from({ length: PROCESSES }, () => new Redis(inject("redisSocket")));
    const fleet = clients.map((client) =>
      createBreaker({
        ...AT_ONCE,
        store: redisStore(client, { prefix: "peers", clock: () => now }),
        minimumCalls: 1,
        openFor: 30 * SECOND,
        trialCalls: 1,
      }),
    );
    await expect(fleet[0]?.run(fail)).rejects.toThrow("upstream");
    now += 30 * SECOND;
    let refused = 0;
    const fallback = () => {
      refused += 1;
      return "another answer";
    };
    const calls = fleet.flatMap((breaker) =>
      Array.from({ length: CALLS }, () => breaker.run(upstream.call, { fallback })),
    );
    const others = PROCESSES * CALLS - 1;
    await waitUntil("all others are refused", 5_000, () => refused === others || undefined);
    expect(upstream.calls).toBe(1);
    upstream.succeed();
    await Promise.all(calls);
    expect(await fleet[7]?.snapshot()).toMatchObject({ state: "closed" });
    await Promise.all(fleet.map((breaker) => breaker.close()));
    await Promise.all(clients.map((client) => client.quit()));
  });
});

async function succeed(): Promise<string> {
  return "fine";
}

async function fail(): Promise<string> {
  throw new Error("the upstream failed");
}
