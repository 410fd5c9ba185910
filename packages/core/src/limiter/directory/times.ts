import { sharedBy } from "../shared.ts";

/** When a process writes into directories, in milliseconds. */
interface DirectoryTimes {
  /** After the first limiter was made: shorter processes are not listed. Up to half as much is added. */
  first: number;
  /** From then on; up to a fifth is added. */
  every: number;
}

/** For how long a process stays listed that ended without a word: three times of writing, and some. */
export const PROCESS_LIFE_MS = 110_000;

/** For how long records stay that processes share. A process has 1,000 of them at most, and all in turn within an hour. */
export const SHARED_LIFE_MS = 7_200_000;

/** One for all copies of this package, so that a test can set other times. */
export function directoryTimes(): DirectoryTimes {
  return sharedBy(globalThis, "directory-times", () => ({ first: 10_000, every: 30_000 }));
}
