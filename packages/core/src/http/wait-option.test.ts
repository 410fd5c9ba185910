import { describe, expect, test } from "vitest";
import { readWaitOption } from "./parse-guard-options.ts";

describe("the option wait", () => {
  test.each([
    [undefined, undefined],
    [false, undefined],
    [1, 1],
    ["250ms", 250],
    ["2s", 2_000],
    ["10m", 600_000],
  ] as const)("%j means %j ms", (option, ms) => {
    expect(readWaitOption(option)).toBe(ms);
  });

  test.each([0, -1, 1.5, Number.NaN, 600_001, "11m", "1h", "2 s", "", null, true, {}])(
    "%j is rejected",
    (option) => {
      expect(() => readWaitOption(option as never)).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_OPTION",
          message: expect.stringMatching(/^wait must be .*[,;] got \S/s),
        }),
      );
    },
  );
});
