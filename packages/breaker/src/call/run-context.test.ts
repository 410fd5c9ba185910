import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

describe("the signal that a call gets", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("never aborts, where there is neither a signal nor a timeout", async () => {
    const { breaker } = breakerOnClock();
    const signal = await breaker.run((context) => context.signal);
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal.aborted).toBe(false);
  });

  test("can be taken by name", async () => {
    const { breaker } = breakerOnClock();
    expect(await breaker.run(({ signal }) => signal.aborted)).toBe(false);
    expect(await breaker.run(({ signal }) => signal.aborted, { timeout: 5 })).toBe(false);
  });

  test("aborts with the caller's, for the same reason", async () => {
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

  test("aborts at the timeout, with the error that the caller gets", async () => {
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

  test("does not abort after the call has ended", async () => {
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

describe("what the caller has stored for what it calls", () => {
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

  test("is there in the call and in the fallback", async () => {
    const { breaker } = breakerOnClock();
    expect(await seenBy(breaker, "first")).toEqual(["first", "first", "first"]);
    expect(await seenBy(breaker, "second")).toEqual(["second", "second", "second"]);
  });

  test("is there where several wait for the same answer of the store", async () => {
    const { breaker } = breakerOnClock();
    const seen = await Promise.all(["a", "b", "c"].map((who) => seenBy(breaker, who)));
    expect(seen).toEqual(["a", "b", "c"].map((who) => [who, who, who]));
  });

  test("is there in a trial call, and where the call is refused", async () => {
    const { breaker, count, pass } = breakerOnClock({ probes: 1 });
    await count(0, 4);
    expect(await seenBy(breaker, "refused")).toEqual(["refused"]);
    pass(30_000);
    expect(await seenBy(breaker, "trial")).toEqual(["trial", "trial", "trial"]);
  });
});
