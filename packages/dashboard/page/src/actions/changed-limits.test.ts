import { expect, test } from "vitest";
import { changedLimits } from "./changed-limits.ts";

const NUMBERS = { burst: { limit: 20, burst: 5 }, daily: { limit: 1_000 } };

test("an override sends only the typed numbers", () => {
  expect(changedLimits(NUMBERS, { burst: { limit: " 200 ", burst: "" } })).toEqual({
    burst: { limit: 200 },
  });
});

test.each([{}, { burst: { limit: "" } }, { burst: { limit: "1.5" } }, { daily: { limit: "-1" } }])(
  "the typed fields %j give no override",
  (typed) => expect(changedLimits(NUMBERS, typed)).toBeUndefined(),
);

test("an override can change a limit of any name", () => {
  const numbers = Object.fromEntries([["__proto__", { limit: 1 }]]);
  const typed = Object.fromEntries([["__proto__", { limit: "2" }]]);
  expect(Object.entries(changedLimits(numbers, typed) ?? {})).toEqual([
    ["__proto__", { limit: 2 }],
  ]);
});
