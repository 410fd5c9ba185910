import { describe, expect, test } from "vitest";
import { joinChargeResults } from "./cost.ts";

const all = { charged: 5, overflow: 0, degraded: false };
const part = { charged: 3, overflow: 2, degraded: false };
const missed = { charged: 0, overflow: 0, degraded: true };

describe("the joined result of a charge in several hash slots", () => {
  test.each([
    [all, part],
    [part, all],
  ])("counts the units that every hash slot could hold", (...charged) => {
    expect(joinChargeResults(charged)).toEqual({ charged: 3, overflow: 2, degraded: false });
  });

  test("counts the units of the hash slots that were charged", () => {
    expect(joinChargeResults([missed, all])).toEqual({ charged: 5, overflow: 0, degraded: true });
    expect(joinChargeResults([missed, missed])).toEqual(missed);
  });
});
