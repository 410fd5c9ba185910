import { describe, expect, test } from "vitest";
import { formatFromNow, formatSpan } from "./time.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("formatting a span", () => {
  test.each([
    [0, "0 ms"],
    [0.2, "1 ms"],
    [999, "999 ms"],
    [1_000, "1 s"],
    [1_001, "2 s"],
    [59_001, "1 min"],
    [MINUTE + 1, "1 min 1 s"],
    [HOUR - 1, "1 h"],
    [2 * HOUR + 5 * MINUTE, "2 h 5 min"],
    [2 * HOUR + 2 * SECOND, "2 h"],
    [2 * HOUR - 1, "2 h"],
    [DAY - 1, "1 d"],
    [3 * DAY + 4 * HOUR + 10 * MINUTE, "3 d 4 h"],
    [366 * DAY, "366 d"],
  ])("of %d ms gives %s", (ms, text) => {
    expect(formatSpan(ms)).toBe(text);
  });

  test("from now gives a time ahead or ago", () => {
    expect(formatFromNow(5_000, 5_000)).toBe("now");
    expect(formatFromNow(HOUR + 5_000, 5_000)).toBe("in 1 h");
    expect(formatFromNow(5_000, MINUTE + 5_000)).toBe("1 min ago");
  });
});
