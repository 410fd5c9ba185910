import { vi } from "vitest";

const START = Date.UTC(2030, 0, 1);

/** Whether a request or a call is admitted. */
type IsAdmitted = () => Promise<boolean>;

/**
 * Sends requests to two limiters of three a minute around the edge of a fixed window: one at its start, two at its end, and three
 * right after it. Resolves with the number of the last five that each admitted. Both must read `Date`, which the caller restores.
 */
export async function admittedAtWindowEdge(sides: {
  readonly before: IsAdmitted;
  readonly after: IsAdmitted;
}): Promise<{ before: number; after: number }> {
  const admitted = { before: 0, after: 0 };
  for (const [at, count] of [
    [0, 1],
    [59_900, 2],
    [60_100, 3],
  ] as const) {
    vi.setSystemTime(START + at);
    for (let i = 0; i < count; i += 1) {
      for (const side of ["before", "after"] as const) {
        if ((await sides[side]()) && at > 0) admitted[side] += 1;
      }
    }
  }
  return admitted;
}

/** Stops `Date` at the start of `admittedAtWindowEdge`, for limiters that read it at construction. */
export function freezeClock(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
}
