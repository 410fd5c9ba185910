import { describe, expect, test } from "vitest";
import { joinChargeResults } from "./charge-result.ts";

const all = { charged: 5, overflow: 0, degraded: false };
const part = { charged: 3, overflow: 2, degraded: false };
const missed = { charged: 0, overflow: 0, degraded: true };

describe("what was charged in several places", () => {
  test.each([
    [all, part],
    [part, all],
  ])("is what all of them could hold", (...charged) => {
    expect(joinChargeResults(charged)).toEqual({ charged: 3, overflow: 2, degraded: false });
  });

  test("is what was charged where it could be", () => {
    expect(joinChargeResults([missed, all])).toEqual({ charged: 5, overflow: 0, degraded: true });
    expect(joinChargeResults([missed, missed])).toEqual(missed);
  });
});
