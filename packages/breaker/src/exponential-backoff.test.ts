import { describe, expect, test } from "vitest";
import type { ExponentialBackoffOptions } from "./exponential-backoff.ts";
import { exponentialBackoff } from "./exponential-backoff.ts";

const make = (options: unknown) => () => exponentialBackoff(options as ExponentialBackoffOptions);

function refusal(message: string) {
  return expect.objectContaining({ code: "HEADGATE_INVALID_OPTION", message });
}

describe("exponentialBackoff", () => {
  test("exponentialBackoff doubles from the first to the longest duration, in milliseconds", () => {
    const backoff = exponentialBackoff({ first: "10s", longest: "5m" });
    expect([1, 2, 3, 4, 5, 6, 7].map(backoff)).toEqual([
      10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000,
    ]);
  });

  test("exponentialBackoff grows by its factor, rounded to whole milliseconds", () => {
    const backoff = exponentialBackoff({ first: 5, factor: 1.5, longest: 20 });
    expect([1, 2, 3, 4, 5].map(backoff)).toEqual([5, 8, 11, 17, 20]);
    const slow = exponentialBackoff({ first: "1s", factor: 1.01, longest: "1d" });
    expect(slow(101)).toBe(2_705);
  });

  test.each([1.000_001, 10, 1e300, Number.POSITIVE_INFINITY])(
    "exponentialBackoff never exceeds its longest duration, nor returns NaN, with factor %s",
    (factor) => {
      const backoff = exponentialBackoff({ first: 1, factor, longest: "366d" });
      let before = 0;
      for (let opened = 1; opened <= 1_000; opened += 1) {
        const wait = backoff(opened);
        expect(wait >= before && wait <= 366 * 86_400_000).toBe(true);
        before = wait;
      }
      expect(backoff(1)).toBe(1);
    },
  );

  test("exponentialBackoff may have equal first and longest durations", () => {
    const backoff = exponentialBackoff({ first: "1m", longest: 60_000 });
    expect([1, 2, 20].map(backoff)).toEqual([60_000, 60_000, 60_000]);
  });

  test.each(["first", "longest"])(
    "exponentialBackoff rejects what is not a duration: %s",
    (option) => {
      for (const value of [0, -1, 0.5, "soon", undefined]) {
        expect(make({ first: 1, longest: 10, [option]: value })).toThrow(
          expect.objectContaining({
            code: "HEADGATE_INVALID_OPTION",
            message: expect.stringMatching(`^${option} must be a duration from 1 ms to 366 days`),
          }),
        );
      }
    },
  );

  test.each([
    [1, "1"],
    [0.5, "0.5"],
    [0, "0"],
    [-2, "-2"],
    [Number.NaN, "NaN"],
    ["2", '"2"'],
    [null, "null"],
  ])("exponentialBackoff rejects the factor %s", (factor, received) => {
    expect(make({ first: 1, factor, longest: 10 })).toThrow(
      refusal(`exponentialBackoff: factor must be above 1, got ${received}`),
    );
  });

  test("exponentialBackoff rejects a longest duration below the first", () => {
    expect(make({ first: "10s", longest: "9s" })).toThrow(
      refusal('exponentialBackoff: longest must not be less than first, got "9s"'),
    );
  });

  test("exponentialBackoff rejects unknown options", () => {
    expect(make({ first: 1, longest: 2, jitter: true })).toThrow(
      refusal('exponentialBackoff: unknown option "jitter"; it takes first, factor, longest'),
    );
    expect(make(undefined)).toThrow(
      refusal("exponentialBackoff: options must be an object, got undefined"),
    );
  });
});
