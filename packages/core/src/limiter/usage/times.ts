import { sharedBy } from "../shared.ts";

/** When a process sends what it has counted, in milliseconds. */
interface UsageTimes {
  /** Up to a quarter is added. */
  every: number;
}

/** One for all copies of this package, so that a test can set other times. */
export function usageTimes(): UsageTimes {
  return sharedBy(globalThis, "usage-times", () => ({ every: 4_000 }));
}
