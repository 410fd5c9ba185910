import { processPart } from "../../client-state.ts";

/** When a process writes into directories, in milliseconds. */
interface DirectoryTimes {
  /** After the first limiter was made: shorter processes are not listed. Up to half as much is added. */
  first: number;
  /** From then on; up to a fifth is added. */
  every: number;
}

/** How long a process that crashed stays listed: a bit more than three writes. */
export const PROCESS_LIFE_MS = 110_000;

/** How long shared records stay. A process has at most 1,000 of them, and renews all in turn within an hour. */
export const SHARED_LIFE_MS = 7_200_000;

/** One for all copies of this package, so that a test can set other times. */
export const directoryTimes: () => DirectoryTimes = processPart("directoryTimes", () => ({
  first: 10_000,
  every: 30_000,
}));
