import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { admit, fail } from "./ask-held.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("while half-open", () => {
  /** All places are taken by this process. */
  async function takeAllPlaces(options = {}) {
    const world = holdBreaker({ trialCallTimeout: "10s", ...options });
    await fail(world.peer, 4);
    await pass(30_000);
    const trials = [(await admit(world)).permit, (await admit(world)).permit];
    expect(trials.map(({ allowed }) => allowed)).toEqual([true, true]);
    return { ...world, trials };
  }

  test("a process without a free trial slot rejects calls until its view expires", async () => {
    const world = await takeAllPlaces();
    expect(await admit(world)).toMatchObject({ asked: 0, permit: { allowed: false } });
    await pass(349);
    expect((await admit(world)).asked).toBe(0);
    await pass(1);
    expect((await admit(world)).asked).toBe(1);
  });

  test("a process without a free trial slot reads the store again after at most a second", async () => {
    const world = await takeAllPlaces({ storeTimeout: "1m" });
    await pass(999);
    expect((await admit(world)).asked).toBe(0);
    await pass(1);
    expect((await admit(world)).asked).toBe(1);
  });

  test("a process without a free trial slot reads the store again when a lease ends", async () => {
    const world = holdBreaker({ trialCallTimeout: 1, storeTimeout: "1m", trialCalls: 1 });
    await fail(world.peer, 4);
    await pass(30_000);
    await world.peer.admit();
    // Its process is gone, and its timers with it: only the clock runs.
    vi.setSystemTime(Date.now() + 500);
    expect((await admit(world)).permit).toMatchObject({ allowed: false, retryAfterMs: 501 });
    vi.setSystemTime(Date.now() + 500);
    expect((await admit(world)).asked).toBe(0);
    vi.setSystemTime(Date.now() + 1);
    expect(await admit(world)).toMatchObject({ asked: 1, permit: { allowed: true } });
  });

  test("a trial slot that a process releases is available to it at once", async () => {
    const world = await takeAllPlaces();
    const releasing = world.trials[0]?.release();
    await letRun();
    await world.take().carryOut();
    await releasing;
    expect(await admit(world)).toMatchObject({ asked: 1, permit: { allowed: true } });
  });

  test("one of several concurrent calls without a view makes a trial call", async () => {
    const { breaker, peer, take, held } = holdBreaker();
    await fail(peer, 4);
    await pass(30_000);
    const asking = Promise.all(Array.from({ length: 10 }, () => breaker.admit()));
    await letRun();
    await take().carryOut();
    const permits = await asking;
    expect(permits.map(({ allowed }) => allowed)).toEqual([true, ...new Array(9).fill(false)]);
    // The next may make the other.
    const next = breaker.admit();
    await letRun();
    await held.shift()?.carryOut();
    expect(await next).toMatchObject({ allowed: true, state: "half-open" });
  });

  test("a trial call's outcome is sent at once with its lease, and record resolves when the store has it", async () => {
    const { trials, take, held } = await takeAllPlaces();
    const reported: string[] = [];
    const recording = trials[0]?.record("failure").then(() => reported.push("told"));
    await letRun();
    const report = take();
    expect(report.words).toEqual(["-1", "", expect.any(String), "1", "0"]);
    expect(Number(report.words[2])).toBeGreaterThan(0);
    expect(reported).toEqual([]);
    await report.carryOut();
    await recording;
    expect(reported).toEqual(["told"]);
    // The first time counts, and the others are not even told.
    await trials[0]?.record("success");
    await trials[0]?.release();
    expect(held).toEqual([]);
  });
});
