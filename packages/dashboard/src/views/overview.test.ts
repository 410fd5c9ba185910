import type { UsageSeries } from "@headgate/core/admin";
import { expect, test } from "vitest";
import type { Span } from "../counts.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { chooseSpan } from "./overview.ts";

const HOUR = 3_600_000;

const NOW = 2_000 * HOUR;

/** What `readUsage` returns of decisions of these ages: no steps that are older than the span, in chronological order. */
function readerOf(ages: readonly number[]): FleetReader {
  const loadUsage = async (span: Span) => {
    const stepsWithin = (most: number) =>
      ages
        .filter((age) => age < most)
        .sort((one, other) => other - one)
        .map((age) => ({ from: NOW - age, allowed: 1, denied: 0, degraded: 0 }));
    const long = span === "30d";
    const series: UsageSeries = {
      total: { allowed: 1, denied: 0, degraded: 0 },
      tenSeconds: stepsWithin(HOUR / 4),
      minutes: long ? [] : stepsWithin(span === "1h" ? HOUR : 24 * HOUR),
      hours: long ? stepsWithin(720 * HOUR) : [],
    };
    return { at: NOW, limiters: [{ name: "api", ...series }], unreadable: [] };
  };
  return { loadUsage } as unknown as FleetReader;
}

test.each([
  ["15m", "the last minutes only", [0, HOUR / 5]],
  ["1h", "the last hour", [0, HOUR / 5, HOUR / 3]],
  ["1h", "the last hour and before it", [HOUR / 2, 30 * HOUR]],
  ["24h", "some hours ago", [5 * HOUR, 30 * HOUR]],
  ["30d", "some days ago", [30 * HOUR]],
  ["1h", "none", []],
])("the overview begins with %s if there are decisions of %s", async (span, _, ages) => {
  expect(await chooseSpan(readerOf(ages))).toBe(span);
});
