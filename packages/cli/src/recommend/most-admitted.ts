import type { Algorithm } from "./algorithms.ts";

/** The most units that one client is admitted within any span, in milliseconds, by a limit of so many units in a window. */
export function mostAdmitted(
  algorithm: Algorithm,
  units: number,
  window: number,
  span: number,
): number {
  switch (algorithm) {
    case "gcra":
    case "tokenBucket":
      return units + Math.floor((units * span) / window);
    case "slidingLog":
      return units * Math.ceil(span / window);
    // A span that begins within a window ends within another one.
    case "fixedWindow":
    case "slidingWindow":
      return units * (Math.ceil(span / window) + 1);
  }
}
