import { expect, test } from "vitest";
import { withDelay } from "./use-action.ts";

test.each([
  [2_000, 2_000],
  // The time of the server is read a moment before or after.
  [2_003, 2_000],
  [1_996, 2_000],
  [1_000, 1_000],
  [1, 0],
  [-5, 0],
])(
  "an action in force %i ms after its preview is shown with a delay of %i ms, by no other clock",
  (ms, delayMs) => {
    const at = Date.UTC(2020, 0, 1);
    const preview = { before: "", after: "", token: "", at, effectiveAt: at + ms };
    expect(withDelay(preview)).toEqual({ ...preview, delayMs });
  },
);
