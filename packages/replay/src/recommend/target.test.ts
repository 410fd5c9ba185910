import { expect, test } from "vitest";
import { maxDeniedOf, readTarget } from "./target.ts";

test.each([
  ["0.1%", 999, 0],
  ["0.1%", 1_000, 1],
  ["0.1 %", 1_999, 1],
  ["0%", 1_000, 0],
  ["100%", 7, 7],
  ["0.29%", 10_000, 29],
  ["0.07%", 10_000, 7],
  ["0.000001%", 100_000_000, 1],
])("the share %s of %d is %d", (share, whole, most) => {
  expect(maxDeniedOf(readTarget({ denyAtMost: share, of: "clients" }), whole)).toBe(most);
});

test.each(["0.1", "", "-1%", "101%", "1e2%", "0.0000001%", "%", "NaN%"])(
  "%j is rejected as a share",
  (share) => {
    expect(() => readTarget({ denyAtMost: share, of: "clients" })).toThrow(
      /^denyAtMost must be a share from 0% to 100%, as in 0.1%, got "/,
    );
  },
);

test("a share is of clients or of requests", () => {
  expect(() => readTarget({ denyAtMost: "1%", of: "users" as "clients" })).toThrow(
    'of must be clients or requests, got "users"',
  );
});
