import { vi } from "vitest";

const START = Date.UTC(2030, 0, 1);

/** Whether a request or a call is admitted. */
type Ask = () => Promise<boolean>;

/**
 * Asks two limiters of three a minute around the edge of a fixed window: once at its begin, twice at its end, and three times right
 * after it. Resolves with how many of the last five each has admitted. Both have to read `Date`, which is restored by the caller.
 */
export async function admittedAtAnEdge(sides: {
  readonly before: Ask;
  readonly after: Ask;
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

/** Stops `Date` where `admittedAtAnEdge` begins: for limiters that read it when they are made. */
export function stopTheClock(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
}
