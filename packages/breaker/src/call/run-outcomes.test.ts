import { describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

describe("run", () => {
  test("run returns the call's result, sync or async", async () => {
    const { breaker } = breakerOnClock();
    const answer = { rows: 3 };
    expect(await breaker.run(() => answer)).toBe(answer);
    expect(await breaker.run(async () => answer)).toBe(answer);
    expect(await breaker.run(() => undefined)).toBeUndefined();
    expect(await breaker.snapshot()).toMatchObject({ calls: 3, successes: 3, failures: 0 });
  });

  test.each([
    ["an error", new Error("upstream")],
    ["undefined", undefined],
    ["a text", "upstream"],
  ])("run rejects with the call's error, sync or async: %s", async (_, thrown) => {
    const { breaker } = breakerOnClock({ minimumCalls: 20 });
    const throwNow = () => {
      throw thrown;
    };
    await expect(breaker.run(throwNow)).rejects.toBe(thrown);
    await expect(breaker.run(async () => throwNow())).rejects.toBe(thrown);
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, successes: 0, failures: 2 });
  });

  test("run rejects instead of throwing synchronously", async () => {
    const { breaker } = breakerOnClock();
    const throwNow = () => {
      throw new Error("upstream");
    };
    const promise = breaker.run(throwNow);
    await expect(promise).rejects.toThrow("upstream");
  });

  test("run counts a call when it ends", async () => {
    const { breaker } = breakerOnClock();
    let end = (_: string): void => {};
    const running = breaker.run(
      () =>
        new Promise<string>((resolve) => {
          end = resolve;
        }),
    );
    await breaker.record("success");
    expect(await breaker.snapshot()).toMatchObject({ calls: 1 });
    end("fine");
    await running;
    expect(await breaker.snapshot()).toMatchObject({ calls: 2 });
  });

  test("run does not make or count a rejected call", async () => {
    const { breaker, count, advance } = breakerOnClock();
    await count(0, 4);
    const call = vi.fn(() => "real");
    for (let i = 0; i < 50; i += 1) {
      await expect(breaker.run(call)).rejects.toMatchObject({ code: "HEADGATE_BREAKER_OPEN" });
    }
    expect(call).not.toHaveBeenCalled();
    expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 4, openings: 1 });
    advance(30_000);
    expect(await breaker.run(call)).toBe("real");
  });

  test("the error of a rejected call has its state and retryAfterMs", async () => {
    const { breaker, count, advance } = breakerOnClock();
    await count(0, 4);
    advance(29_000.5);
    const error = await breaker.run(() => 1).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: "HeadgateBreakerOpenError",
      code: "HEADGATE_BREAKER_OPEN",
      message: "the breaker does not let this call through: it is open",
      breaker: "payments",
      target: "default",
      state: "open",
      retryAfterMs: 1_000,
      degraded: false,
    });
  });

  test("the error message of a rejected call names the state", async () => {
    const { breaker, count, advance } = breakerOnClock({ trialCalls: 1, rampUp: "1m" });
    const messageOf = () => breaker.run(() => 1).catch(({ message }: Error) => message);
    const prefix = "the breaker does not let this call through: it is";
    await breaker.forceOpen();
    expect(await messageOf()).toBe(`${prefix} forced open`);
    await breaker.reset();
    await count(0, 4);
    expect(await messageOf()).toBe(`${prefix} open`);
    advance(30_000);
    const trial = await breaker.admit();
    expect(await messageOf()).toBe(`${prefix} half-open, and waits for its trial calls`);
    await trial.record("success");
    expect(await messageOf()).toBe(
      `${prefix} closed again, and lets only a growing part of the calls through`,
    );
  });

  test("run decides by the outcome of the call before", async () => {
    const { breaker, advance } = breakerOnClock({ minimumCalls: 1, trialCalls: 1 });
    await breaker.run(() => Promise.reject(new Error("upstream"))).catch(() => {});
    await expect(breaker.run(() => 1)).rejects.toMatchObject({ state: "open" });
    advance(30_000);
    expect(await breaker.run(() => "trial")).toBe("trial");
    expect(await breaker.run(() => "next")).toBe("next");
  });

  test("a minimumSuccessRate of 0.5 allows half of the calls to fail, and opens at one more", async () => {
    const { breaker, count } = breakerOnClock({ minimumCalls: 1, minimumSuccessRate: 0.5 });
    for (let i = 0; i < 10; i += 1) await count(1, 1);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 20, failures: 10 });
    await breaker.run(() => Promise.reject(new Error("upstream"))).catch(() => {});
    expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 21, failures: 11 });
  });
});

describe("isFailure", () => {
  test("isFailure receives each settled call", async () => {
    const isFailure = vi.fn(() => false);
    const { breaker } = breakerOnClock({ isFailure });
    const error = new Error("upstream");
    await breaker.run(async () => "fine");
    await breaker.run(() => Promise.reject(error)).catch(() => {});
    expect(isFailure.mock.calls).toEqual([
      [{ status: "fulfilled", value: "fine" }],
      [{ status: "rejected", reason: error }],
    ]);
  });

  test("isFailure can make a returned value a failure, and run still returns it", async () => {
    const { breaker } = breakerOnClock<number>({
      isFailure: (call) => call.status === "rejected" || call.value >= 500,
    });
    expect(await breaker.run(() => 503)).toBe(503);
    expect(await breaker.run(() => 404)).toBe(404);
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, failures: 1 });
  });

  test("isFailure can make a thrown error a success, and run still throws it", async () => {
    const notFound = new Error("not found");
    const { breaker } = breakerOnClock({
      isFailure: (call) => call.status === "rejected" && call.reason !== notFound,
    });
    await expect(breaker.run(() => Promise.reject(notFound))).rejects.toBe(notFound);
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, successes: 1, failures: 0 });
    const other = new Error("other");
    await expect(breaker.run(() => Promise.reject(other))).rejects.toBe(other);
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, successes: 1, failures: 1 });
  });

  test("an error thrown by isFailure reaches the caller, counts as a failure and skips the fallback", async () => {
    const bug = new TypeError("no status");
    const { breaker } = breakerOnClock<string>({
      isFailure() {
        throw bug;
      },
    });
    const fallback = vi.fn(() => "cached");
    await expect(breaker.run(() => "fine", { fallback })).rejects.toBe(bug);
    await expect(breaker.run(() => Promise.reject("x"), { fallback })).rejects.toBe(bug);
    expect(fallback).not.toHaveBeenCalled();
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, failures: 2 });
  });

  test("isFailure can ignore a call", async () => {
    const badRequest = new Error("bad request");
    const fallback = vi.fn(() => "cached");
    const { breaker } = breakerOnClock<string>({
      isFailure: (call) => (call.status === "rejected" ? "ignore" : call.value === "broken"),
    });
    await expect(breaker.run(() => Promise.reject(badRequest), { fallback })).rejects.toBe(
      badRequest,
    );
    expect(fallback).not.toHaveBeenCalled();
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
    expect(await breaker.run(() => "fine", { fallback })).toBe("fine");
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, failures: 0 });
  });

  test("an ignored trial call frees its slot for another", async () => {
    const { breaker, count, advance } = breakerOnClock<string>({
      trialCalls: 1,
      isFailure: (call) => call.status === "fulfilled" && call.value === "unsure" && "ignore",
    });
    await count(0, 4);
    advance(30_000);
    expect(await breaker.run(() => "unsure")).toBe("unsure");
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
    expect(await breaker.run(() => "sure")).toBe("sure");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
  });

  test.each([
    [async () => true, "an object"],
    [() => undefined, "undefined"],
    [() => 1, "a number"],
    [() => "failure", "a string"],
  ])("isFailure must return true, false or ignore: %s", async (isFailure: unknown, received) => {
    const { breaker } = breakerOnClock({ isFailure: isFailure as () => boolean });
    await expect(breaker.run(() => "secret")).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: `isFailure must return true, false or "ignore", got ${received}`,
    });
    // An invalid result counts as a failure, so that the mistake becomes visible.
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });

  test("isFailure is not called for rejected calls", async () => {
    const isFailure = vi.fn(() => true);
    const { breaker } = breakerOnClock({ isFailure });
    await breaker.forceOpen();
    await breaker.run(() => 1).catch(() => {});
    expect(isFailure).not.toHaveBeenCalled();
  });

  test("isFailure classifies trial calls too", async () => {
    const { breaker, count, advance } = breakerOnClock<number>({
      isFailure: (call) => call.status === "rejected" || call.value >= 500,
    });
    await count(0, 4);
    advance(30_000);
    for (let i = 0; i < 2; i += 1) await breaker.run(() => 500);
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 2 });
  });
});
