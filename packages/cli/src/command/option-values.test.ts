import { expect, test } from "vitest";
import { formatDuration } from "./option-values.ts";

test("a duration is as it was written, or in the largest unit", () => {
  expect(
    ["90s", 90_000, 60_000, 86_400_000, 1_500, 250].map((one) => formatDuration(one as 1)),
  ).toEqual([...["90s", "90s", "1m", "1d", "1500ms", "250ms"]]);
});
