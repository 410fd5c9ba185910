/** How a call went. */
export interface Called {
  readonly failed: boolean;
  readonly slow: boolean;
}

export interface Counts {
  readonly calls: number;
  readonly failures: number;
  readonly slow: number;
}

/** What a window remembers, by the book: every outcome with its time, counted anew at each look. Times are microseconds. */
export interface WindowOracle {
  add(called: Called, now: bigint): void;
  counts(now: bigint): Counts;
  clear(): void;
}

export function count(kept: readonly Called[]): Counts {
  return {
    calls: kept.length,
    failures: kept.filter(({ failed }) => failed).length,
    slow: kept.filter(({ slow }) => slow).length,
  };
}
