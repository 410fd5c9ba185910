import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";
import { recordBreakerEvents } from "../../../../test/support/record-breaker-events.ts";

/** A breaker whose next calls are trial calls. */
async function halfOpen(options = {}) {
  const opened = breakerOnClock({ trialCallTimeout: "10s", ...options });
  await opened.count(0, 4);
  opened.advance(30_000);
  return opened;
}

function refusal(message: string) {
  return { code: "HEADGATE_INVALID_OPTION", message };
}

describe("permits", () => {
  test("an allowed permit has the target's state", async () => {
    const { breaker } = breakerOnClock();
    expect(await breaker.admit()).toEqual({
      allowed: true,
      state: "closed",
      retryAfterMs: 0,
      degraded: false,
      record: expect.any(Function),
      release: expect.any(Function),
    });
  });

  test("a denied permit has a retryAfterMs", async () => {
    const { breaker, count, advance } = breakerOnClock();
    await count(0, 4);
    advance(0.001);
    expect(await breaker.admit()).toMatchObject({
      allowed: false,
      state: "open",
      retryAfterMs: 30_000,
    });
    advance(29_999.5);
    expect(await breaker.admit()).toMatchObject({ allowed: false, retryAfterMs: 1 });
    await breaker.forceOpen();
    expect(await breaker.admit()).toMatchObject({
      allowed: false,
      state: "forced-open",
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
  });

  test("a denied permit records nothing", async () => {
    const { breaker } = breakerOnClock();
    await breaker.forceOpen();
    const permit = await breaker.admit();
    await permit.record("failure");
    await permit.release();
    await breaker.metricsOnly();
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });

  test("a permit records its first outcome only", async () => {
    const { breaker } = breakerOnClock();
    const permit = await breaker.admit();
    await permit.record("success");
    await permit.record("failure");
    await permit.release();
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, successes: 1 });
  });

  test("a released permit records nothing", async () => {
    const { breaker } = breakerOnClock();
    const permit = await breaker.admit();
    await permit.release();
    await permit.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });

  test.each([
    [undefined, "undefined"],
    ["Success", '"Success"'],
    [true, "true"],
    [0, "0"],
    [null, "null"],
    // A text in an object may be a secret.
    [{ outcome: "success" }, '{"outcome":"..."}'],
  ])("record rejects the outcome %j, and the permit stays usable", async (outcome, received) => {
    const { breaker } = breakerOnClock();
    const permit = await breaker.admit();
    const message = `outcome must be "success" or "failure", got ${received}`;
    await expect(permit.record(outcome as "success")).rejects.toMatchObject(refusal(message));
    await expect(breaker.record(outcome as "success")).rejects.toMatchObject(refusal(message));
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
    await permit.record("success");
    expect(await breaker.snapshot()).toMatchObject({ calls: 1 });
  });

  test.each([
    [-1, "-1"],
    [Number.NaN, "NaN"],
    ["5", '"5"'],
    [null, "null"],
    [5n, "5n"],
  ])("record rejects the duration %s", async (duration, received) => {
    const { breaker } = breakerOnClock();
    const permit = await breaker.admit();
    const message = `durationMs must be milliseconds, at least 0, got ${received}`;
    const durationMs = duration as number;
    await expect(permit.record("success", durationMs)).rejects.toMatchObject(refusal(message));
    await expect(breaker.record("failure", durationMs)).rejects.toMatchObject(refusal(message));
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });
});

describe("permits of trial calls", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("a half-open breaker allows `trialCalls` trial calls at a time", async () => {
    const { breaker, advance } = await halfOpen({ trialCalls: 3 });
    const permits = await Promise.all(Array.from({ length: 10 }, () => breaker.admit()));
    expect(permits.map(({ allowed }) => allowed)).toEqual([
      ...new Array(3).fill(true),
      ...new Array(7).fill(false),
    ]);
    // Most trial calls end soon.
    expect(permits[9]).toMatchObject({ state: "half-open", retryAfterMs: 1_000 });
    // A slot becomes free at the latest when the first lease ends, a second after trialCallTimeout.
    advance(10_600);
    expect(await breaker.admit()).toMatchObject({ allowed: false, retryAfterMs: 400 });
    await permits[1]?.release();
    expect((await breaker.admit()).allowed).toBe(true);
    expect((await breaker.admit()).allowed).toBe(false);
  });

  test("exactly `trialCalls` outcomes decide a half-open breaker", async () => {
    const { breaker } = await halfOpen({ trialCalls: 2 });
    const [first, second] = [await breaker.admit(), await breaker.admit()];
    await first.record("success");
    await first.record("success");
    await first.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
    await second.record("success");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 0, openings: 0 });
  });

  test("a released trial call frees its slot and records no outcome", async () => {
    const { breaker } = await halfOpen({ trialCalls: 1 });
    const permit = await breaker.admit();
    await permit.release();
    await permit.record("success");
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
    await (await breaker.admit()).record("failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 2 });
  });

  test("a trial call that exceeds trialCallTimeout is a failure, and its later outcome does not count", async () => {
    const { breaker, advance } = await halfOpen({ trialCalls: 1 });
    const permit = await breaker.admit();
    await vi.advanceTimersByTimeAsync(9_999);
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
    await vi.advanceTimersByTimeAsync(1);
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 2 });
    await permit.record("success");
    advance(30_000);
    await breaker.snapshot();
    await permit.record("success");
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
  });

  test.each([
    ["slow if it exceeds slowCall", { slowCall: 9_999 }, 1],
    ["not slow if it does not exceed slowCall", { slowCall: "10s" }, 0],
    ["not slow without slowCall", {}, 0],
  ] as const)("a trial call that exceeds trialCallTimeout is %s", async (_, options, slowCalls) => {
    const { breaker } = await halfOpen({ trialCalls: 1, ...options });
    const permit = await breaker.admit();
    const heard = recordBreakerEvents();
    await vi.advanceTimersByTimeAsync(10_000);
    await permit.record("success");
    expect(heard).toMatchObject([
      [
        "state",
        { from: "half-open", to: "open", causedHere: true, calls: 1, failures: 1, slowCalls },
      ],
    ]);
  });

  test("recording or releasing a trial call clears its timer", async () => {
    const { breaker } = await halfOpen({ trialCalls: 2 });
    const [first, second] = [await breaker.admit(), await breaker.admit()];
    expect(vi.getTimerCount()).toBe(2);
    await first.record("success");
    await second.release();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("run records the trial calls that it makes", async () => {
    const { breaker, advance } = await halfOpen({ trialCalls: 1 });
    let end = (_: string): void => {};
    const running = breaker.run(
      () =>
        new Promise<string>((resolve) => {
          end = resolve;
        }),
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
    expect((await breaker.admit()).allowed).toBe(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 2 });
    // The call goes on, and its caller gets what it returns.
    end("late");
    expect(await running).toBe("late");
    advance(30_000);
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open", openings: 2 });
  });

  test("the trial slot of a crashed process is free a second after trialCallTimeout", async () => {
    const { breaker, advance } = await halfOpen({ trialCalls: 1 });
    // The call is never reported, and the timers of this process do not run.
    await breaker.admit();
    advance(10_999.999);
    expect((await breaker.admit()).allowed).toBe(false);
    advance(0.001);
    expect((await breaker.admit()).allowed).toBe(true);
  });
});
