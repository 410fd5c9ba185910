/** The thresholds of a limit that were reported. Its value in Redis: see thresholds.lua. */
export interface ThresholdMark {
  /** The units of the highest of them. */
  readonly units: number;
  /** Microseconds since the epoch until which neither it nor a lower one is reported again. */
  readonly endsAt: number;
}

/** When the last of some marks ends. */
export function lastEndOf(marks: readonly (ThresholdMark | undefined)[]): number {
  return marks.reduce((last, mark) => Math.max(last, mark?.endsAt ?? 0), 0);
}
