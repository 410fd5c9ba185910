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

describe("a call that its caller gives up", () => {
  test("before it began is not made, and the store is not asked", async () => {
    const { breaker } = breakerOnClock();
    const call = vi.fn(() => 1);
    const fallback = vi.fn(() => 2);
    const signal = AbortSignal.abort(reason);
    await expect(breaker.run(call, { signal, fallback })).rejects.toBe(reason);
    expect(call).not.toHaveBeenCalled();
    expect(fallback).not.toHaveBeenCalled();
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });

  test("while the store is asked is not made", async () => {
    const { breaker } = breakerOnClock({ aborted: "failure" });
    const call = vi.fn(() => 1);
    const controller = new AbortController();
    const running = breaker.run(call, { signal: controller.signal });
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(call).not.toHaveBeenCalled();
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });

  test("while the store is asked is not answered with the fallback, where the answer is no", async () => {
    const { breaker: before, store } = breakerOnClock();
    await before.forceOpen();
    await before.close();
    // It has to ask how the target is doing.
    const { breaker } = breakerOnClock({ store });
    const controller = new AbortController();
    const fallback = vi.fn(() => "cached");
    const running = breaker.run(() => "real", { signal: controller.signal, fallback });
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(fallback).not.toHaveBeenCalled();
  });

  test("while the store is asked gives the place of a trial call back", async () => {
    const { breaker, count, pass } = breakerOnClock({ probes: 1 });
    await count(0, 4);
    pass(30_000);
    const controller = new AbortController();
    const running = breaker.run(() => 1, { signal: controller.signal });
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(await breaker.run(() => 2)).toBe(2);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
  });

  test("while it is made is given up at once, whether it listens or not", async () => {
    const { breaker } = breakerOnClock();
    const controller = new AbortController();
    const { call, began } = hangingCall();
    const running = breaker.run(call, { signal: controller.signal });
    await began;
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
  });

  test("rejects with the signal's reason, whatever the call makes of it", async () => {
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

  test("after it ended is over already", async () => {
    const { breaker } = breakerOnClock({ aborted: "failure" });
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
  ] as const)("counts as the option says: %s", async (aborted, counted) => {
    const isFailure = vi.fn(() => true);
    const { breaker } = breakerOnClock({ aborted, isFailure });
    const controller = new AbortController();
    const { call, began } = hangingCall();
    const running = breaker.run(call, { signal: controller.signal });
    await began;
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(await breaker.snapshot()).toMatchObject(counted);
    expect(isFailure).not.toHaveBeenCalled();
  });

  test("as a trial call that is ignored leaves its place to another", async () => {
    const { breaker, count, pass } = breakerOnClock({ probes: 1 });
    await count(0, 4);
    pass(30_000);
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

describe("a signal that lives long", () => {
  test("keeps no listener of calls that have ended", async () => {
    const { breaker } = breakerOnClock({ minimumCalls: 1_000 });
    const { signal } = new AbortController();
    for (let i = 0; i < 100; i += 1) {
      await breaker.run(() => i, { signal });
      await breaker.run(() => Promise.reject(i), { signal }).catch(() => {});
    }
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("keeps one for each call under way, until it ends", async () => {
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

  test("has one listener, and gives up all calls, however many are under way", async () => {
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

  test("gives up the last call of several, and one that began after all others had ended", async () => {
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

  test("is told apart from another", async () => {
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

  test("keeps none of a call that was refused", async () => {
    const { breaker } = breakerOnClock();
    const { signal } = new AbortController();
    await breaker.forceOpen();
    await breaker.run(() => 1, { signal, fallback: () => 2 });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  describe("and a timeout", () => {
    beforeEach(() => {
      vi.useFakeTimers();
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    test("keeps none of a call that took too long", async () => {
      const { breaker } = breakerOnClock();
      const { signal } = new AbortController();
      const running = breaker.run(never, { signal, timeout: 5 }).catch(() => {});
      await vi.advanceTimersByTimeAsync(5);
      await running;
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    });

    test("leaves no timer behind, when it aborts first", async () => {
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
