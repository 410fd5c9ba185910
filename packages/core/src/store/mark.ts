/** What was told about a limit: its value in Redis, see thresholds.lua. */
export interface Mark {
  /** The most units that were told. */
  readonly units: number;
  /** Microseconds since the epoch until which so many units, or fewer, are not told again. */
  readonly ends: number;
}

/** When the last of some marks ends. */
export function lastOf(marks: readonly (Mark | undefined)[]): number {
  return marks.reduce((last, mark) => Math.max(last, mark?.ends ?? 0), 0);
}
