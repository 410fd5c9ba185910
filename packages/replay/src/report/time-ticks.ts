const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

const STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000].map((count) => count * DAY),
];

/** A tick of a time axis with its label. */
export interface TimeTick {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly label: string;
}

/** At most `most` ticks at round times in UTC. The labels name the days if there are several. */
export function timeTicks(from: number, to: number, most: number): TimeTick[] {
  const step = STEPS.find((one) => (to - from) / one <= most) ?? (STEPS.at(-1) as number);
  const first = Math.ceil(from / step) * step;
  const isLong = to - from > 300 * DAY;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, i) => {
    const at = first + i * step;
    return { at, label: labelOf(at, step, isLong) };
  });
}

function labelOf(at: number, step: number, isLong: boolean): string {
  const moment = new Date(at).toISOString();
  if (at % DAY === 0) return isLong ? moment.slice(0, 10) : moment.slice(5, 10);
  return step < MINUTE ? moment.slice(11, 19) : moment.slice(11, 16);
}
