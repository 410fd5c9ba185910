import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { admitHeld, fail } from "./admit-held.ts";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("while half-open", () => {
  /** Takes all trial slots in this process. */
  async function takeAllPlaces(options = {}) {
    const world = holdBreaker({ trialCallTimeout: "10s", ...options });
    await fail(world.peer, 4);
    await advance(30_000);
    const trials = [(await admitHeld(world)).permit, (await admitHeld(world)).permit];
    expect(trials.map(({ allowed }) => allowed)).toEqual([true, true]);
    return { ...world, trials };
  }

  test("a process without a free trial slot rejects calls until its view expires", async () => {
    const world = await takeAllPlaces();
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 0, permit: { allowed: false } });
    await advance(349);
    expect((await admitHeld(world)).storeCalls).toBe(0);
    await advance(1);
    expect((await admitHeld(world)).storeCalls).toBe(1);
  });

  test("a process without a free trial slot reads the store again after at most a second", async () => {
    const world = await takeAllPlaces({ storeTimeout: "1m" });
    await advance(999);
    expect((await admitHeld(world)).storeCalls).toBe(0);
    await advance(1);
    expect((await admitHeld(world)).storeCalls).toBe(1);
  });

  test("a process without a free trial slot reads the store again when a lease ends", async () => {
    const world = holdBreaker({ trialCallTimeout: 1, storeTimeout: "1m", trialCalls: 1 });
    await fail(world.peer, 4);
    await advance(30_000);
    await world.peer.admit();
    // Its process is gone, and its timers with it: only the clock runs.
    vi.setSystemTime(Date.now() + 500);
    expect((await admitHeld(world)).permit).toMatchObject({ allowed: false, retryAfterMs: 501 });
    vi.setSystemTime(Date.now() + 500);
    expect((await admitHeld(world)).storeCalls).toBe(0);
    vi.setSystemTime(Date.now() + 1);
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 1, permit: { allowed: true } });
  });

  test("a trial slot that a process releases is available to it at once", async () => {
    const world = await takeAllPlaces();
    const releasing = world.trials[0]?.release();
    await flushMicrotasks();
    await world.take().complete();
    await releasing;
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 1, permit: { allowed: true } });
  });

  test("one of several concurrent calls without a view makes a trial call", async () => {
    const { breaker, peer, take, held } = holdBreaker();
    await fail(peer, 4);
    await advance(30_000);
    const pending = Promise.all(Array.from({ length: 10 }, () => breaker.admit()));
    await flushMicrotasks();
    await take().complete();
    const permits = await pending;
    expect(permits.map(({ allowed }) => allowed)).toEqual([true, ...new Array(9).fill(false)]);
    // The next may make the other.
    const next = breaker.admit();
    await flushMicrotasks();
    await held.shift()?.complete();
    expect(await next).toMatchObject({ allowed: true, state: "half-open" });
  });

  test("a trial call's outcome is sent at once with its lease, and record resolves when the store has it", async () => {
    const { trials, take, held } = await takeAllPlaces();
    const reported: string[] = [];
    const recording = trials[0]?.record("failure").then(() => reported.push("recorded"));
    await flushMicrotasks();
    const report = take();
    expect(report.args).toEqual(["-1", "", expect.any(String), "1", "0"]);
    expect(Number(report.args[2])).toBeGreaterThan(0);
    expect(reported).toEqual([]);
    await report.complete();
    await recording;
    expect(reported).toEqual(["recorded"]);
    // The first report counts, and the later ones are not sent.
    await trials[0]?.record("success");
    await trials[0]?.release();
    expect(held).toEqual([]);
  });
});
