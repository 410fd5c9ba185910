import { processPart } from "../../client-state.ts";

/** When a process sends what it has counted, in milliseconds, to each of which up to a quarter is added. */
interface UsageTimes {
  /** How often it sends numbers. */
  every: number;
  /** How old the subjects of a limiter are when they go with them. */
  subjectsEvery: number;
}

/** One for all copies of this package, so that a test can set other times. */
export const usageTimes: () => UsageTimes = processPart("usageTimes", () => ({
  every: 4_000,
  subjectsEvery: 25_000,
}));
