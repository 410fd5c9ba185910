import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { warnedCodes } from "../common/operator-log.ts";
import type { Limit } from "../common/policy.ts";
import { createLimiter } from "./create-limiter.ts";

beforeEach(() => {
  warnedCodes().delete(process);
});

function warningsOf(...policies: readonly (readonly Limit[])[]): readonly string[] {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  for (const limits of policies) createLimiter({ limits });
  return warn.mock.calls.map(([message]) => String(message));
}

test.each<[Limit, string]>([
  [
    { algorithm: "gcra", limit: 5, window: 60 },
    'gcra: window: 60 is 60 milliseconds. If you mean seconds, write "60s"',
  ],
  [{ algorithm: "tokenBucket", capacity: 5, refill: 1, every: 1 }, "tokenBucket: every: 1 is"],
  [{ algorithm: "concurrency", limit: 5, ttl: 999 }, "concurrency: ttl: 999 is"],
  [{ algorithm: "fixedWindow", limit: 5, window: "1m", block: 30 }, "fixedWindow: block: 30 is"],
  [{ algorithm: "fixedWindow", limit: 5, window: "1m", block: ["1m", 30] }, "block: 30 is"],
  [
    { algorithm: "fixedWindow", limit: 5, window: "1m", block: { after: 3, for: 30 } },
    "block: 30 is",
  ],
])("%j is likely meant in seconds, and warned about", (limit, message) => {
  expect(warningsOf([limit])).toEqual([expect.stringContaining(message)]);
});

test("the warning about a duration without a unit comes once per process", () => {
  const short: Limit = { algorithm: "gcra", limit: 5, window: 60 };
  expect(warningsOf([short], [{ ...short, window: 61 }])).toHaveLength(1);
});

test("durations with a unit, and numbers from 1,000, cause no warning", () => {
  const limits: Limit[] = [
    { algorithm: "gcra", limit: 5, window: "60ms" },
    { algorithm: "fixedWindow", limit: 5, window: 1_000, block: ["1ms", 1_000] },
    { algorithm: "fixedWindow", limit: 5, window: "day" },
  ];
  expect(warningsOf(limits)).toEqual([]);
});
