import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

beforeEach(() => {
  vi.useFakeTimers();
  // A process does not begin with the call.
  vi.advanceTimersByTime(3_600_000);
});
afterEach(() => {
  vi.useRealTimers();
});

/** A call that takes so many milliseconds. */
const lasting = (ms: number) => () => new Promise((resolve) => setTimeout(resolve, ms));

/** Lets time pass until a promise is settled; whatever it is settled with. */
async function finish(promise: Promise<unknown>, ms: number): Promise<void> {
  const settled = promise.catch(() => {});
  await vi.advanceTimersByTimeAsync(ms);
  await settled;
}

describe("slow calls", () => {
  test("a call is slow only if it takes longer than slowCall", async () => {
    const { breaker } = breakerOnClock({ slowCall: "2s" });
    await breaker.run(() => "at once");
    await finish(breaker.run(lasting(2_000)), 2_000);
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, slowCalls: 0, slowCallRate: 0 });
    await finish(breaker.run(lasting(2_001)), 2_001);
    expect(await breaker.snapshot()).toMatchObject({ calls: 3, successes: 3, slowCalls: 1 });
  });

  test("a failed call can be slow", async () => {
    const { breaker } = breakerOnClock({ slowCall: 10 });
    const failing = async () => {
      await lasting(11)();
      throw new Error("upstream");
    };
    await finish(breaker.run(failing), 11);
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, failures: 1, slowCalls: 1 });
  });

  test("a call that timed out can be slow", async () => {
    const { breaker } = breakerOnClock({ slowCall: 10 });
    await finish(breaker.run(lasting(1_000), { timeout: 10 }), 10);
    await finish(breaker.run(lasting(1_000), { timeout: 11 }), 11);
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, failures: 2, slowCalls: 1 });
  });

  test("an aborted call that counts can be slow", async () => {
    const { breaker } = breakerOnClock({ slowCall: 10, abortOutcome: "success" });
    const controller = new AbortController();
    const running = breaker.run(lasting(1_000), { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(11);
    controller.abort();
    await finish(running, 0);
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, successes: 1, slowCalls: 1 });
  });

  test("an ignored slow call does not count", async () => {
    const { breaker } = breakerOnClock({ slowCall: 10 });
    const controller = new AbortController();
    const running = breaker.run(lasting(1_000), { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(11);
    controller.abort();
    await finish(running, 0);
    expect(await breaker.snapshot()).toMatchObject({ calls: 0, slowCalls: 0 });
  });

  test("no call is slow without slowCall", async () => {
    const { breaker } = breakerOnClock();
    await finish(breaker.run(lasting(3_600_000)), 3_600_000);
    await breaker.record("success", 1e9);
    await (await breaker.admit()).record("success", 1e9);
    expect(await breaker.snapshot()).toMatchObject({ calls: 3, slowCalls: 0, slowCallRate: 0 });
  });

  test("the fallback's duration does not make a call slow", async () => {
    const { breaker } = breakerOnClock({ slowCall: 10 });
    const failing = () => Promise.reject(new Error("upstream"));
    await finish(breaker.run(failing, { fallback: lasting(1_000) }), 1_000);
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, failures: 1, slowCalls: 0 });
  });
});

describe("recorded durations", () => {
  test("record counts calls that took longer than slowCall, on the target and on a permit", async () => {
    const { breaker } = breakerOnClock({ slowCall: 10, minimumCalls: 100 });
    await breaker.record("success", 10);
    await breaker.record("success", 10.001);
    await breaker.record("failure", Number.POSITIVE_INFINITY);
    await breaker.record("failure");
    await breaker.record("success", 0);
    expect(await breaker.snapshot()).toMatchObject({ calls: 5, failures: 2, slowCalls: 2 });
    await (await breaker.admit()).record("success", 11);
    await (await breaker.admit()).record("failure", 9);
    await (await breaker.admit()).record("success");
    expect(await breaker.snapshot()).toMatchObject({ calls: 8, failures: 3, slowCalls: 3 });
  });
});

describe("slowCallRate", () => {
  test("a breaker opens when the share of slow calls reaches slowCallRate, even if all succeed", async () => {
    const { breaker } = breakerOnClock({ slowCall: 10, slowCallRate: 0.5, minimumCalls: 4 });
    await breaker.record("success", 11);
    await breaker.record("success", 1);
    await breaker.record("success", 1);
    await breaker.record("success", 1);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", slowCallRate: 0.25 });
    await breaker.record("success", 11);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", slowCallRate: 0.4 });
    await breaker.record("success", 11);
    expect(await breaker.snapshot()).toMatchObject({
      state: "open",
      calls: 6,
      successRate: 1,
      slowCallRate: 0.5,
    });
  });

  test("a breaker with the default slowCallRate opens only if every call is slow", async () => {
    const { breaker } = breakerOnClock({ slowCall: 10, minimumCalls: 4, window: { calls: 4 } });
    await breaker.record("success", 1);
    for (let i = 0; i < 3; i += 1) await breaker.record("success", 11);
    expect((await breaker.snapshot()).state).toBe("closed");
    await breaker.record("success", 11);
    expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 4, slowCalls: 4 });
  });

  test("slow trial calls open the breaker again", async () => {
    const { breaker, count, advance } = breakerOnClock({
      slowCall: 10,
      slowCallRate: 0.5,
      trialCalls: 2,
    });
    await count(0, 4);
    advance(30_000);
    await (await breaker.admit()).record("success", 1);
    await (await breaker.admit()).record("success", 11);
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 2 });
    advance(30_000);
    for (let i = 0; i < 2; i += 1) await breaker.run(() => "quick");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
  });
});
