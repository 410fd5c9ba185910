/** The reported thresholds of a limit. thresholds.lua describes the value in Redis. */
export interface ThresholdMark {
  /** The units of the highest reported threshold. */
  readonly units: number;
  /** Microseconds since the epoch until which neither it nor a lower threshold is reported again. */
  readonly endsAt: number;
}

/** The time at which the last of some marks ends. */
export function lastEndOf(marks: readonly (ThresholdMark | undefined)[]): number {
  return marks.reduce((last, mark) => Math.max(last, mark?.endsAt ?? 0), 0);
}
