import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** How a promise stands. */
function watch(promise: Promise<unknown>): { settled: unknown } {
  const watched: { settled: unknown } = { settled: "waiting" };
  const note = (settled: unknown): void => {
    watched.settled = settled;
  };
  promise.then(note, note);
  return watched;
}

describe("a call with a timeout", () => {
  test("a call that ignores its signal is abandoned at its timeout", async () => {
    const { breaker } = breakerOnClock();
    const watched = watch(breaker.run(() => new Promise(() => {}), { timeout: "2s" }));
    await vi.advanceTimersByTimeAsync(1_999);
    expect(watched.settled).toBe("waiting");
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
    await vi.advanceTimersByTimeAsync(1);
    expect(watched.settled).toMatchObject({
      name: "HeadgateError",
      code: "HEADGATE_BREAKER_TIMEOUT",
      message: "the call took longer than its timeout of 2000 ms",
    });
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });

  test("a call that times out is a failure, whatever isFailure says", async () => {
    const isFailure = vi.fn(() => false);
    const { breaker } = breakerOnClock({ isFailure });
    const watched = watch(breaker.run(() => new Promise(() => {}), { timeout: 5 }));
    await vi.advanceTimersByTimeAsync(5);
    expect(watched.settled).toMatchObject({ code: "HEADGATE_BREAKER_TIMEOUT" });
    expect(isFailure).not.toHaveBeenCalled();
    expect(await breaker.snapshot()).toMatchObject({ failures: 1 });
  });

  test("a call that times out counts once, and its later rejection is handled", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { breaker } = breakerOnClock();
    const ends: (() => void)[] = [];
    const late = [
      () => new Promise((resolve) => ends.push(() => resolve("late"))),
      () => new Promise((_, reject) => ends.push(() => reject(new Error("late")))),
    ];
    const watched = late.map((call) => watch(breaker.run(call, { timeout: 5 })));
    await vi.advanceTimersByTimeAsync(5);
    for (const end of ends) end();
    vi.useRealTimers();
    // Node reports rejections after the microtasks.
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    for (const { settled } of watched) {
      expect(settled).toMatchObject({ code: "HEADGATE_BREAKER_TIMEOUT" });
    }
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, failures: 2 });
  });

  test("a call that ends in time clears its timer", async () => {
    const { breaker } = breakerOnClock();
    expect(await breaker.run(() => "fine", { timeout: "1d" })).toBe("fine");
    await breaker.run(() => Promise.reject(new Error("no")), { timeout: "1d" }).catch(() => {});
    const throwNow = () => {
      throw new Error("no");
    };
    await breaker.run(throwNow, { timeout: "1d" }).catch(() => {});
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a rejected call starts no timer", async () => {
    const { breaker } = breakerOnClock();
    await breaker.forceOpen();
    await breaker.run(() => 1, { timeout: 5, fallback: () => 2 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a trial call that times out ends its lease", async () => {
    const { breaker, count, advance } = breakerOnClock({ trialCalls: 2 });
    await count(0, 4);
    advance(30_000);
    const trials = [1, 2].map(() =>
      watch(breaker.run(() => new Promise(() => {}), { timeout: 5 })),
    );
    await vi.advanceTimersByTimeAsync(5);
    expect(trials.map(({ settled }) => settled)).toMatchObject([
      { code: "HEADGATE_BREAKER_TIMEOUT" },
      { code: "HEADGATE_BREAKER_TIMEOUT" },
    ]);
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 2 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a timeout of a day waits a day", async () => {
    const { breaker } = breakerOnClock();
    const watched = watch(breaker.run(() => new Promise(() => {}), { timeout: "1d" }));
    await vi.advanceTimersByTimeAsync(86_399_999);
    expect(watched.settled).toBe("waiting");
    await vi.advanceTimersByTimeAsync(1);
    expect(watched.settled).toMatchObject({ code: "HEADGATE_BREAKER_TIMEOUT" });
  });
});

describe("AbortSignal.timeout", () => {
  beforeEach(() => {
    // Node's own timers know nothing of the test's.
    vi.useRealTimers();
  });

  test.each([
    ["by itself", (signal: AbortSignal) => signal],
    [
      "with others",
      (signal: AbortSignal) => AbortSignal.any([signal, new AbortController().signal]),
    ],
  ])("a signal of AbortSignal.timeout counts as a timeout: %s", async (_, combine) => {
    const { breaker } = breakerOnClock({ abortOutcome: "success" });
    const running = breaker.run(() => new Promise(() => {}), {
      signal: combine(AbortSignal.timeout(5)),
    });
    await expect(running).rejects.toMatchObject({ name: "TimeoutError" });
    const answer = breaker.run<unknown>(() => new Promise(() => {}), {
      signal: combine(AbortSignal.timeout(5)),
      fallback: (context) => context,
    });
    expect(await answer).toEqual({
      reason: "timeout",
      error: expect.objectContaining({ name: "TimeoutError" }),
    });
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, failures: 2 });
  });

  test("a signal that aborts for another reason is no timeout, whatever the reason's name", async () => {
    const { breaker } = breakerOnClock();
    for (const reason of [new DOMException("gone", "AbortError"), { name: "TimeoutError" }]) {
      const controller = new AbortController();
      await breaker.snapshot();
      const running = breaker.run(() => new Promise(() => {}), { signal: controller.signal });
      await new Promise((resolve) => setTimeout(resolve, 1));
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
    }
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });
});
