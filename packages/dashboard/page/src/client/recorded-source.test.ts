import { expect, test } from "vitest";
import { shiftTimes } from "./recorded-source.ts";

test("the times of a recording are shifted, and its other figures are not", () => {
  const at = Date.UTC(2026, 0, 1);
  const recorded = { at, rows: [{ until: at + 1, count: 12_345, who: "ann" }], none: null };
  expect(shiftTimes(recorded, 1_000)).toEqual({
    at: at + 1_000,
    rows: [{ until: at + 1_001, count: 12_345, who: "ann" }],
    none: null,
  });
});
