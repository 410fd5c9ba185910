import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";
import type { FallbackContext } from "../breaker.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A fallback that keeps its contexts. */
function cache() {
  const contexts: FallbackContext<string>[] = [];
  return {
    contexts,
    fallback(context: FallbackContext<string>) {
      contexts.push(context);
      return "cached";
    },
  };
}

describe("the fallback is called", () => {
  test("the fallback is called for a rejected call", async () => {
    const { breaker, count, advance } = breakerOnClock();
    await count(0, 4);
    advance(10_000);
    const { contexts, fallback } = cache();
    expect(await breaker.run(() => "real", { fallback })).toBe("cached");
    expect(contexts).toHaveLength(1);
    const [context] = contexts;
    expect(context).toMatchObject({ reason: "open", retryAfterMs: 20_000 });
    expect((context as { error?: unknown } | undefined)?.error).toMatchObject({
      code: "HEADGATE_BREAKER_OPEN",
      target: "default",
      state: "open",
      retryAfterMs: 20_000,
    });
  });

  test("the fallback context creates its error once", async () => {
    const { breaker } = breakerOnClock();
    await breaker.forceOpen();
    const refusal = await breaker.run<unknown>(() => "real", { fallback: (why) => why });
    const { error } = refusal as { readonly error: Error };
    expect((refusal as { readonly error: Error }).error).toBe(error);
    expect(error).toMatchObject({ code: "HEADGATE_BREAKER_OPEN", state: "forced-open" });
    expect(refusal).toMatchObject({ reason: "open", retryAfterMs: Number.POSITIVE_INFINITY });
  });

  test("the fallback is called when the call throws a failure", async () => {
    const { breaker } = breakerOnClock();
    const { contexts, fallback } = cache();
    const error = new Error("upstream");
    expect(await breaker.run(() => Promise.reject(error), { fallback })).toBe("cached");
    expect(contexts).toEqual([{ reason: "error", error }]);
    expect((contexts[0] as { error?: unknown }).error).toBe(error);
  });

  test("the fallback is called when the call times out", async () => {
    const { breaker } = breakerOnClock();
    const { contexts, fallback } = cache();
    const answer = breaker.run(() => new Promise<string>(() => {}), { fallback, timeout: 50 });
    await vi.advanceTimersByTimeAsync(50);
    expect(await answer).toBe("cached");
    expect(contexts).toEqual([
      {
        reason: "timeout",
        error: expect.objectContaining({
          code: "HEADGATE_BREAKER_TIMEOUT",
          message: "the call took longer than its timeout of 50 ms",
        }),
      },
    ]);
  });

  test("the fallback is called when the call returns a failure", async () => {
    const { breaker } = breakerOnClock<string>({
      isFailure: (call) => call.status === "rejected" || call.value === "broken",
    });
    const { contexts, fallback } = cache();
    expect(await breaker.run(() => "broken", { fallback })).toBe("cached");
    expect(contexts).toEqual([{ reason: "result", result: "broken" }]);
  });

  test("the fallback may be async", async () => {
    const { breaker } = breakerOnClock();
    await breaker.forceOpen();
    expect(await breaker.run(() => "real", { fallback: async () => "cached" })).toBe("cached");
  });

  test("a failure counts once although the fallback succeeds", async () => {
    const { breaker } = breakerOnClock();
    const { fallback } = cache();
    await breaker.run(() => Promise.reject(new Error("upstream")), { fallback });
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });

  test("the fallback is called for a trial call that fails", async () => {
    const { breaker, count, advance } = breakerOnClock({ trialCalls: 1 });
    await count(0, 4);
    advance(30_000);
    const { contexts, fallback } = cache();
    const error = new Error("still broken");
    expect(await breaker.run(() => Promise.reject(error), { fallback })).toBe("cached");
    expect(contexts).toEqual([{ reason: "error", error }]);
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 2 });
  });
});

describe("the fallback is not called", () => {
  test("the fallback is not called for a successful call", async () => {
    const { breaker } = breakerOnClock();
    const { contexts, fallback } = cache();
    expect(await breaker.run(() => "real", { fallback })).toBe("real");
    expect(contexts).toEqual([]);
  });

  test("the fallback is not called for an error that is no failure", async () => {
    const { breaker } = breakerOnClock<string>({ isFailure: () => false });
    const { contexts, fallback } = cache();
    const error = new Error("not found");
    await expect(breaker.run(() => Promise.reject(error), { fallback })).rejects.toBe(error);
    expect(contexts).toEqual([]);
  });

  test.each(["ignore", "success", "failure"] as const)(
    "the fallback is not called for an aborted call that counts as %s",
    async (abortOutcome) => {
      const { breaker } = breakerOnClock<string>({ abortOutcome });
      const { contexts, fallback } = cache();
      const controller = new AbortController();
      const { signal } = controller;
      const call = vi.fn(() => new Promise<string>(() => {}));
      const answer = breaker.run(call, { fallback, signal });
      const reason = new Error("gone");
      await vi.advanceTimersByTimeAsync(0);
      expect(call).toHaveBeenCalledOnce();
      controller.abort(reason);
      await expect(answer).rejects.toBe(reason);
      expect(contexts).toEqual([]);
    },
  );
});

describe("errors of the fallback", () => {
  const error = new Error("nothing cached");

  test.each([
    [
      "at once",
      () => {
        throw error;
      },
    ],
    ["later", () => Promise.reject(error)],
  ])("an error of the fallback reaches the caller, thrown %s", async (_, fallback) => {
    const { breaker } = breakerOnClock();
    const failing = breaker.run(() => Promise.reject(new Error("upstream")), { fallback });
    await expect(failing).rejects.toBe(error);
    await breaker.forceOpen();
    await expect(breaker.run(() => "real", { fallback })).rejects.toBe(error);
    await breaker.reset();
    const slow = breaker.run(() => new Promise(() => {}), { fallback, timeout: 5 });
    const rejected = expect(slow).rejects.toBe(error);
    await vi.advanceTimersByTimeAsync(5);
    await rejected;
  });
});
