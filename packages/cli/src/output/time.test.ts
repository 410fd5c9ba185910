import { expect, test } from "vitest";
import { formatTime } from "./time.ts";

const HOUR = 3_600_000;

test("a time is formatted in a time zone, also when clocks are put back", () => {
  const at = Date.UTC(2026, 10, 22, 23, 5, 9, 999);
  expect(formatTime(at, "UTC")).toBe("2026-11-22 23:05:09 UTC");
  expect(formatTime(at, "Europe/Berlin")).toBe("2026-11-23 00:05:09 CET");
  const twice = Date.UTC(2026, 9, 25, 0, 30);
  expect(formatTime(twice, "Europe/Berlin")).toBe("2026-10-25 02:30:00 CEST");
  expect(formatTime(twice + HOUR, "Europe/Berlin")).toBe("2026-10-25 02:30:00 CET");
});
