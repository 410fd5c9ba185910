import { expect, test } from "vitest";
import { changedLimits } from "./changed-limits.ts";

const NUMBERS = { burst: { limit: 20, burst: 5 }, daily: { limit: 1_000 } };

test("only what was typed is sent", () => {
  expect(changedLimits(NUMBERS, { burst: { limit: " 200 ", burst: "" } })).toEqual({
    burst: { limit: 200 },
  });
});

test.each([{}, { burst: { limit: "" } }, { burst: { limit: "1.5" } }, { daily: { limit: "-1" } }])(
  "nothing is sent of %j",
  (typed) => expect(changedLimits(NUMBERS, typed)).toBeUndefined(),
);

test("a limit may have any name", () => {
  const numbers = Object.fromEntries([["__proto__", { limit: 1 }]]);
  const typed = Object.fromEntries([["__proto__", { limit: "2" }]]);
  expect(Object.entries(changedLimits(numbers, typed) ?? {})).toEqual([
    ["__proto__", { limit: 2 }],
  ]);
});
