import { describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../test/support/breaker-on-clock.ts";
import type { BreakerOptions } from "./breaker-options.ts";
import { createBreaker } from "./create-breaker.ts";
import { exponentialBackoff } from "./exponential-backoff.ts";
import { readBreakerOptions } from "./read-options.ts";

/** Opens it, and lets the trial calls fail, so often; for how many milliseconds it was open each time. */
async function openAgainAndAgain(
  times: number,
  openFor: BreakerOptions["openFor"],
): Promise<number[]> {
  const { breaker, count, advance } = breakerOnClock({ openFor, trialCalls: 1 });
  await count(0, 4);
  const waits: number[] = [];
  for (let i = 1; i <= times; i += 1) {
    const { state, openings, retryAfterMs } = await breaker.snapshot();
    expect([state, openings]).toEqual(["open", i]);
    waits.push(retryAfterMs);
    advance(retryAfterMs - 1);
    expect((await breaker.admit()).allowed).toBe(false);
    advance(1);
    const trial = await breaker.admit();
    expect(trial).toMatchObject({ allowed: true, state: "half-open" });
    await trial.record("failure");
  }
  return waits;
}

describe("openFor as a function", () => {
  test("an openFor function is called with 1 to 20 at construction only", async () => {
    const openFor = vi.fn((opened: number) => opened * 1_000);
    const { count } = breakerOnClock({ openFor });
    const asked = Array.from({ length: 20 }, (_, i) => [i + 1]);
    expect(openFor.mock.calls).toEqual(asked);
    await count(0, 4);
    expect(openFor.mock.calls).toEqual(asked);
  });

  test("an openFor function gives the duration of each opening in a row, the 20th for all later ones", async () => {
    const waits = await openAgainAndAgain(23, (opened) => `${opened}s`);
    const seconds = Array.from({ length: 20 }, (_, i) => (i + 1) * 1_000);
    expect(waits).toEqual([...seconds, 20_000, 20_000, 20_000]);
  });

  test("an openFor function starts again at 1 after the breaker has closed", async () => {
    const { breaker, count, advance } = breakerOnClock({ openFor: (opened) => opened * 1_000 });
    await count(0, 4);
    advance(1_000);
    for (let i = 0; i < 2; i += 1) await (await breaker.admit()).record("failure");
    expect(await breaker.snapshot()).toMatchObject({ openings: 2, retryAfterMs: 2_000 });
    advance(2_000);
    for (let i = 0; i < 2; i += 1) await (await breaker.admit()).record("success");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", openings: 0 });
    await count(0, 4);
    expect(await breaker.snapshot()).toMatchObject({ openings: 1, retryAfterMs: 1_000 });
  });

  test("equal durations at the end of an openFor function are kept once in the policy", () => {
    const timesOf = (openFor: (opened: number) => number) =>
      readBreakerOptions({ openFor }).policy.openForMicros;
    expect(timesOf(() => 5)).toEqual([5_000]);
    expect(timesOf((opened) => Math.min(opened, 3))).toEqual([1_000, 2_000, 3_000]);
    // Equal ones in between say when the next begins.
    expect(timesOf((opened) => (opened < 3 ? 1 : 2))).toEqual([1_000, 1_000, 2_000]);
  });

  test("a constant openFor function is the same policy as its duration", () => {
    const { canonical } = readBreakerOptions({ openFor: () => "30s" });
    expect(canonical).toBe(readBreakerOptions({}).canonical);
  });

  test.each([
    [(opened: number) => (opened === 3 ? 0 : 1), "openFor(3)", "0"],
    [(opened: number) => (opened === 20 ? "soon" : 1), "openFor(20)", '"soon"'],
    [() => undefined, "openFor(1)", "undefined"],
    [async () => 5, "openFor(1)", "an object"],
    [(opened: number) => 10 ** opened, "openFor(11)", "100000000000"],
  ])("an openFor function must return durations", (openFor, option, received) => {
    expect(() => createBreaker({ openFor } as BreakerOptions)).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringMatching(`^${option.replace(/[()]/g, "\\$&")} must be a duration`),
      }),
    );
    expect(() => createBreaker({ openFor } as BreakerOptions)).toThrow(`; got ${received}`);
  });

  test("an error thrown by an openFor function is thrown by createBreaker", () => {
    const error = new Error("no idea");
    const openFor = () => {
      throw error;
    };
    expect(() => createBreaker({ openFor })).toThrow(error);
  });
});

test("openFor as a duration is the same for each opening", async () => {
  expect(await openAgainAndAgain(3, "7s")).toEqual([7_000, 7_000, 7_000]);
});

test("openFor with exponentialBackoff grows up to its longest duration", async () => {
  const backoff = exponentialBackoff({ first: "10s", longest: "1m" });
  expect(await openAgainAndAgain(5, backoff)).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
});
