import { expect, test } from "vitest";
import { previewOrder } from "./actions.ts";

const OPEN = {
  ...{ state: "open", calls: 40, successes: 10, failures: 30, slowCalls: 2 },
  ...{ successRate: 0.25, slowCallRate: 0.05, openings: 3, retryAfterMs: 12_000, degraded: false },
};

test("an order ends the open period and the count of openings, and keeps the calls", () => {
  for (const state of ["forced-open", "disabled", "metrics-only"] as const) {
    expect(previewOrder(OPEN, state)).toEqual({ ...OPEN, state, openings: 0, retryAfterMs: 0 });
  }
});

test("an order to close also clears the calls", () => {
  expect(previewOrder(OPEN, "closed")).toEqual({
    ...{ state: "closed", calls: 0, successes: 0, failures: 0, slowCalls: 0 },
    ...{ successRate: null, slowCallRate: null, openings: 0, retryAfterMs: 0, degraded: false },
  });
});
