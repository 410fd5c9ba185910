import { expect, test } from "vitest";
import { timeTicks } from "./timeline-section.ts";

const FROM = Date.UTC(2026, 2, 3, 22, 50, 7);

function labelsOf(ms: number, most = 6): string[] {
  return timeTicks(FROM, FROM + ms, most).map(({ label }) => label);
}

test("ticks are at round times, and no more than fit", () => {
  expect(labelsOf(10_000)).toEqual(["22:50:08", "22:50:10", "22:50:12", "22:50:14", "22:50:16"]);
  expect(labelsOf(2 * 3_600_000)).toEqual(["23:00", "23:30", "03-04", "00:30"]);
  expect(labelsOf(4 * 86_400_000)).toEqual(["03-04", "03-05", "03-06", "03-07"]);
  for (const ms of [1, 1_000, 7_777_777, 10 ** 9, 10 ** 11, 10 ** 12]) {
    expect(labelsOf(ms).length, String(ms)).toBeLessThanOrEqual(7);
  }
});

test("labels have the year if there are several", () => {
  expect(labelsOf(400 * 86_400_000)).toContain("2026-05-27");
});
