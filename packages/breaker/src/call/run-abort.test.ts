import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

const reason = new Error("the client left");
const never = (): Promise<never> => new Promise(() => {});

/** A call that never ends, and when it was made. */
function hangingCall() {
  let begin = (): void => {};
  const began = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const call = (): Promise<never> => {
    begin();
    return never();
  };
  return { call, began };
}

describe("aborted calls", () => {
  test("run with an aborted signal neither makes the call nor reads the store", async () => {
    const { breaker } = breakerOnClock();
    const call = vi.fn(() => 1);
    const fallback = vi.fn(() => 2);
    const signal = AbortSignal.abort(reason);
    await expect(breaker.run(call, { signal, fallback })).rejects.toBe(reason);
    expect(call).not.toHaveBeenCalled();
    expect(fallback).not.toHaveBeenCalled();
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });

  test("run does not make a call that is aborted while the store is read", async () => {
    const { breaker } = breakerOnClock({ abortOutcome: "failure" });
    const call = vi.fn(() => 1);
    const controller = new AbortController();
    const running = breaker.run(call, { signal: controller.signal });
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(call).not.toHaveBeenCalled();
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });

  test("a rejected call that is aborted while the store is read does not get the fallback", async () => {
    const { breaker: before, store } = breakerOnClock();
    await before.forceOpen();
    await before.close();
    // The new breaker must read the state from the store.
    const { breaker } = breakerOnClock({ store });
    const controller = new AbortController();
    const fallback = vi.fn(() => "cached");
    const running = breaker.run(() => "real", { signal: controller.signal, fallback });
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(fallback).not.toHaveBeenCalled();
  });

  test("a call that is aborted while the store is read releases its trial call lease", async () => {
    const { breaker, count, advance } = breakerOnClock({ trialCalls: 1 });
    await count(0, 4);
    advance(30_000);
    const controller = new AbortController();
    const running = breaker.run(() => 1, { signal: controller.signal });
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(await breaker.run(() => 2)).toBe(2);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
  });

  test("run rejects at once when a call in flight is aborted, even if the call ignores its signal", async () => {
    const { breaker } = breakerOnClock();
    const controller = new AbortController();
    const { call, began } = hangingCall();
    const running = breaker.run(call, { signal: controller.signal });
    await began;
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
  });

  test("run rejects with the signal's reason, whatever the call throws", async () => {
    const { breaker } = breakerOnClock();
    const controller = new AbortController();
    await breaker.snapshot();
    const running = breaker.run(
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("another")));
        }),
      { signal: controller.signal },
    );
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
  });

  test("an abort after the call has ended changes nothing", async () => {
    const { breaker } = breakerOnClock({ abortOutcome: "failure" });
    const controller = new AbortController();
    expect(await breaker.run(() => 1, { signal: controller.signal })).toBe(1);
    controller.abort(reason);
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, successes: 1 });
  });

  test.each([
    ["ignore", { calls: 0, successes: 0, failures: 0 }],
    ["success", { calls: 1, successes: 1, failures: 0 }],
    ["failure", { calls: 1, successes: 0, failures: 1 }],
    [undefined, { calls: 0, successes: 0, failures: 0 }],
  ] as const)(
    "an aborted call counts as the aborted option says: %s",
    async (abortOutcome, counted) => {
      const isFailure = vi.fn(() => true);
      const { breaker } = breakerOnClock({ abortOutcome, isFailure });
      const controller = new AbortController();
      const { call, began } = hangingCall();
      const running = breaker.run(call, { signal: controller.signal });
      await began;
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
      expect(await breaker.snapshot()).toMatchObject(counted);
      expect(isFailure).not.toHaveBeenCalled();
    },
  );

  test("an ignored aborted trial call frees its slot for another", async () => {
    const { breaker, count, advance } = breakerOnClock({ trialCalls: 1 });
    await count(0, 4);
    advance(30_000);
    const controller = new AbortController();
    const { call, began } = hangingCall();
    const running = breaker.run(call, { signal: controller.signal });
    await began;
    expect((await breaker.admit()).allowed).toBe(false);
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
    expect((await breaker.admit()).allowed).toBe(true);
  });
});

describe("a long-lived signal", () => {
  test("a signal keeps no listeners of ended calls", async () => {
    const { breaker } = breakerOnClock({ minimumCalls: 1_000 });
    const { signal } = new AbortController();
    for (let i = 0; i < 100; i += 1) {
      await breaker.run(() => i, { signal });
      await breaker.run(() => Promise.reject(i), { signal }).catch(() => {});
    }
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("a signal has a listener while a call is in flight", async () => {
    const { breaker } = breakerOnClock();
    const { signal } = new AbortController();
    await breaker.run(() => 0);
    let end = (_: number): void => {};
    const call = () =>
      new Promise<number>((resolve) => {
        end = resolve;
      });
    const running = breaker.run(call, { signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    end(1);
    await running;
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("a signal has one listener for all its calls in flight, and aborts them all", async () => {
    const { breaker } = breakerOnClock();
    const controller = new AbortController();
    const { signal } = controller;
    await breaker.run(() => 0);
    const early = breaker.run(() => 1, { signal });
    const running = Array.from({ length: 100 }, () => breaker.run(never, { signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    expect(await early).toBe(1);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    controller.abort(reason);
    const results = await Promise.allSettled(running);
    expect(results).toEqual(new Array(100).fill({ status: "rejected", reason }));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("a signal aborts its last remaining call, and one that began after all others had ended", async () => {
    const { breaker } = breakerOnClock();
    const controller = new AbortController();
    const { signal } = controller;
    await breaker.run(() => 0);
    const running = [
      breaker.run(() => 1, { signal }),
      breaker.run(() => 2, { signal }),
      breaker.run(never, { signal }),
    ];
    expect(await Promise.all(running.slice(0, 2))).toEqual([1, 2]);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    controller.abort(reason);
    await expect(running[2]).rejects.toBe(reason);
    const next = new AbortController();
    await breaker.run(() => 3, { signal: next.signal });
    const last = breaker.run(never, { signal: next.signal });
    next.abort(reason);
    await expect(last).rejects.toBe(reason);
  });

  test("a signal aborts its own calls only", async () => {
    const { breaker } = breakerOnClock();
    const [one, other] = [new AbortController(), new AbortController()];
    await breaker.run(() => 0);
    const running = breaker.run(never, { signal: one.signal });
    const otherRunning = breaker.run(never, { signal: other.signal });
    one.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(getEventListeners(other.signal, "abort")).toHaveLength(1);
    const otherReason = new Error("another client left");
    other.abort(otherReason);
    await expect(otherRunning).rejects.toBe(otherReason);
  });

  test("a signal keeps no listener of a rejected call", async () => {
    const { breaker } = breakerOnClock();
    const { signal } = new AbortController();
    await breaker.forceOpen();
    await breaker.run(() => 1, { signal, fallback: () => 2 });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  describe("with a timeout", () => {
    beforeEach(() => {
      vi.useFakeTimers();
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    test("a signal keeps no listener of a call that timed out", async () => {
      const { breaker } = breakerOnClock();
      const { signal } = new AbortController();
      const running = breaker.run(never, { signal, timeout: 5 }).catch(() => {});
      await vi.advanceTimersByTimeAsync(5);
      await running;
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    });

    test("a signal that aborts before the timeout clears its timer", async () => {
      const { breaker } = breakerOnClock();
      const controller = new AbortController();
      await breaker.run(() => 1);
      const running = breaker.run(never, { signal: controller.signal, timeout: 5_000 });
      expect(vi.getTimerCount()).toBe(1);
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});
