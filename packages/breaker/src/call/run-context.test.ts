import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

describe("the signal of a call", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("the signal of a call without signal or timeout never aborts", async () => {
    const { breaker } = breakerOnClock();
    const signal = await breaker.run((context) => context.signal);
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal.aborted).toBe(false);
  });

  test("a call can destructure its signal", async () => {
    const { breaker } = breakerOnClock();
    expect(await breaker.run(({ signal }) => signal.aborted)).toBe(false);
    expect(await breaker.run(({ signal }) => signal.aborted, { timeout: 5 })).toBe(false);
  });

  test("the signal of a call aborts with the caller's signal, for the same reason", async () => {
    const { breaker } = breakerOnClock();
    const controller = new AbortController();
    let seen: AbortSignal | undefined;
    const running = breaker.run(
      ({ signal }) => {
        seen = signal;
        return new Promise(() => {});
      },
      { signal: controller.signal },
    );
    running.catch(() => {});
    await vi.advanceTimersByTimeAsync(0);
    expect(seen?.aborted).toBe(false);
    const reason = new Error("the client left");
    controller.abort(reason);
    expect(seen?.aborted).toBe(true);
    expect(seen?.reason).toBe(reason);
    await expect(running).rejects.toBe(reason);
  });

  test("the signal of a call aborts at the timeout, with the caller's error as its reason", async () => {
    const { breaker } = breakerOnClock();
    let seen: AbortSignal | undefined;
    const running = breaker.run(
      ({ signal }) => {
        seen = signal;
        return new Promise(() => {});
      },
      { timeout: 50 },
    );
    const rejected = running.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(49);
    expect(seen?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen?.aborted).toBe(true);
    expect(seen?.reason).toMatchObject({ code: "HEADGATE_BREAKER_TIMEOUT" });
    expect(await rejected).toBe(seen?.reason);
  });

  test("the signal of a call does not abort after the call has ended", async () => {
    const { breaker } = breakerOnClock();
    const controller = new AbortController();
    const seen = await breaker.run(({ signal }) => signal, {
      signal: controller.signal,
      timeout: 5,
    });
    await vi.advanceTimersByTimeAsync(10);
    controller.abort();
    expect(seen.aborted).toBe(false);
  });
});

describe("AsyncLocalStorage", () => {
  const request = new AsyncLocalStorage<string>();

  /** What is seen in the call and in the fallback of a caller. */
  async function seenBy(breaker: ReturnType<typeof breakerOnClock>["breaker"], who: string) {
    const seen: (string | undefined)[] = [];
    await request.run(who, () =>
      breaker.run(
        async () => {
          seen.push(request.getStore());
          await Promise.resolve();
          seen.push(request.getStore());
          throw new Error("upstream");
        },
        {
          fallback() {
            seen.push(request.getStore());
            return undefined;
          },
        },
      ),
    );
    return seen;
  }

  test("the call and the fallback run in the caller's async context", async () => {
    const { breaker } = breakerOnClock();
    expect(await seenBy(breaker, "first")).toEqual(["first", "first", "first"]);
    expect(await seenBy(breaker, "second")).toEqual(["second", "second", "second"]);
  });

  test("calls that share one request to the store keep their own async contexts", async () => {
    const { breaker } = breakerOnClock();
    const seen = await Promise.all(["a", "b", "c"].map((who) => seenBy(breaker, who)));
    expect(seen).toEqual(["a", "b", "c"].map((who) => [who, who, who]));
  });

  test("trial calls and fallbacks of rejected calls run in the caller's async context", async () => {
    const { breaker, count, advance } = breakerOnClock({ trialCalls: 1 });
    await count(0, 4);
    expect(await seenBy(breaker, "refused")).toEqual(["refused"]);
    advance(30_000);
    expect(await seenBy(breaker, "trial")).toEqual(["trial", "trial", "trial"]);
  });
});
