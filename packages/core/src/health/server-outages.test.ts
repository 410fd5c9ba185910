import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EventLoopClock } from "./event-loop-clock.ts";
import { startRecovery } from "./server-outages.ts";

interface Attempt {
  readonly at: number;
  resolve(): void;
  reject(): void;
}

/** A recovery whose attempts end when the test says so. */
function start(initialFailures = 0) {
  const attempts: Attempt[] = [];
  const onSuccess = vi.fn();
  const onSilence = vi.fn();
  const recovery = startRecovery({
    withinMs: 100,
    clock: new EventLoopClock(),
    initialFailures,
    onSuccess,
    onSilence,
    attempt: () =>
      new Promise<void>((resolve, reject) => {
        attempts.push({ at: performance.now(), resolve, reject: () => reject(new Error("no")) });
      }),
  });
  return { attempts, onSuccess, onSilence, recovery };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("recovery", () => {
  test("recovery tries soon, and ends with the first attempt that succeeds in time", async () => {
    const { attempts, onSuccess } = start();
    await vi.advanceTimersByTimeAsync(20);
    expect(attempts).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(80);
    attempts[0]?.resolve();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(onSuccess).toHaveBeenCalledTimes(1);
    expect(attempts).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("recovery makes one attempt at a time, with growing delays of at most half a second", async () => {
    const { attempts, onSuccess } = start();
    for (let i = 0; i < 20; i += 1) {
      await vi.advanceTimersByTimeAsync(500);
      expect(attempts).toHaveLength(i + 1);
      attempts[i]?.reject();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(onSuccess).not.toHaveBeenCalled();
    const at = attempts.map((attempt) => attempt.at);
    expect(at[0]).toBeLessThanOrEqual(20);
    expect(at[0]).toBeGreaterThanOrEqual(10);
  });

  test("the delay doubles each time, with random jitter of up to a half", async () => {
    const delays: number[][] = [[], [], [], [], [], [], []];
    for (let run = 0; run < 50; run += 1) {
      const { attempts, recovery } = start();
      let before = performance.now();
      for (const seen of delays) {
        const { length } = attempts;
        while (attempts.length === length) await vi.advanceTimersByTimeAsync(1);
        const attempt = attempts.at(-1) as Attempt;
        seen.push(attempt.at - before);
        before = performance.now();
        attempt.reject();
        await vi.advanceTimersByTimeAsync(0);
      }
      recovery.stop();
    }
    for (const [i, longest] of [20, 40, 80, 160, 320, 500, 500].entries()) {
      const seen = delays[i] as number[];
      expect(Math.max(...seen)).toBeLessThanOrEqual(longest + 1);
      expect(Math.min(...seen)).toBeGreaterThanOrEqual(longest / 2);
      expect(new Set(seen).size).toBeGreaterThan(3);
    }
  });

  test("recovery starts with a longer delay after relapses", async () => {
    const { attempts } = start(3);
    await vi.advanceTimersByTimeAsync(79);
    expect(attempts).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(81);
    expect(attempts).toHaveLength(1);
  });

  test("an attempt that succeeded too late is soon repeated", async () => {
    const { attempts, onSuccess } = start();
    await vi.advanceTimersByTimeAsync(20);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(attempts).toHaveLength(1);
    attempts[0]?.resolve();
    await vi.advanceTimersByTimeAsync(21);
    expect(onSuccess).not.toHaveBeenCalled();
    expect(attempts).toHaveLength(2);
    attempts[1]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(onSuccess).toHaveBeenCalledTimes(1);
  });

  test("at most eight attempts are unanswered at once, even over a day", async () => {
    const { attempts, onSuccess } = start();
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(attempts).toHaveLength(8);
    expect(vi.getTimerCount()).toBe(1);
    // The server is back, and its client hands over all the answers at once.
    for (const attempt of attempts) attempt.resolve();
    await vi.advanceTimersByTimeAsync(21);
    expect(attempts).toHaveLength(9);
    attempts.at(-1)?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(onSuccess).toHaveBeenCalledTimes(1);
  });

  test("recovery reports each second without a reply, but not after an error", async () => {
    const { attempts, onSilence } = start();
    for (let i = 0; i < 10; i += 1) {
      await vi.advanceTimersByTimeAsync(500);
      attempts[i]?.reject();
    }
    expect(onSilence).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(100_500);
    expect(onSilence.mock.calls.length).toBeGreaterThanOrEqual(99);
    expect(onSilence.mock.calls.length).toBeLessThanOrEqual(101);
  });

  test("a stopped recovery ignores later replies", async () => {
    const { attempts, onSuccess, recovery } = start();
    await vi.advanceTimersByTimeAsync(20);
    recovery.stop();
    await vi.advanceTimersByTimeAsync(10);
    expect(vi.getTimerCount()).toBe(0);
    attempts[0]?.resolve();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(attempts).toHaveLength(1);
    expect(onSuccess).not.toHaveBeenCalled();
  });
});
