import type { Counts, Point } from "../../../src/counts.ts";
import { formatCount, NO_DECISIONS, REPORT_DELAY_MS, sumCounts } from "../../../src/counts.ts";

/** Decisions over time. */
export interface Series {
  /** In milliseconds. */
  readonly stepMs: number;
  readonly points: readonly Point[];
}

/** A long step is drawn by its rate so far once a minute of it has passed: milliseconds. */
const MIN_DRAWN_MS = 60_000;

/** Decisions per second, from those of a minute. */
export function ratesOfMinute(minute: Counts): Counts {
  return perSecond(minute, 60_000);
}

function perSecond({ allowed, denied, degraded }: Counts, ms: number): Counts {
  const seconds = ms / 1_000;
  return { allowed: allowed / seconds, denied: denied / seconds, degraded: degraded / seconds };
}

/** The columns of a chart, as rates per second. */
export interface ChartColumns {
  /** Seconds since the epoch: the middle of each step. */
  readonly times: number[];
  readonly requests: (number | null)[];
  readonly allowed: (number | null)[];
  readonly degraded: (number | null)[];
}

/**
 * A value for each step of a span: 0 if nothing was decided, null before `knownFrom` and for a step that has hardly begun at
 * `to`.
 */
export function chartColumns(
  { stepMs, points }: Series,
  from: number,
  to: number,
  knownFrom: number,
): ChartColumns {
  const byStep = new Map(points.map((point) => [Math.floor(point.at / stepMs), point]));
  const columns: ChartColumns = { times: [], requests: [], allowed: [], degraded: [] };
  for (let step = Math.ceil(from / stepMs); step * stepMs < to; step += 1) {
    const isOver = (step + 1) * stepMs <= to - REPORT_DELAY_MS;
    const lasted = isOver ? stepMs : to - step * stepMs;
    const isKnown =
      (step + 1) * stepMs > knownFrom && (isOver || lasted >= MIN_DRAWN_MS + REPORT_DELAY_MS);
    addStep(
      columns,
      step * stepMs,
      lasted,
      isKnown ? (byStep.get(step) ?? NO_DECISIONS) : undefined,
    );
  }
  return columns;
}

function addStep(
  columns: ChartColumns,
  from: number,
  lasted: number,
  counts: Counts | undefined,
): void {
  const rates = counts && perSecond(counts, lasted);
  columns.times.push((from + lasted / 2) / 1_000);
  columns.requests.push(rates ? rates.allowed + rates.denied : null);
  columns.allowed.push(rates ? rates.allowed : null);
  columns.degraded.push(rates ? rates.degraded : null);
}

/** The most parts of a small line. */
const MAX_BUCKETS = 60;

/** A step of half a day or longer has busy hours and quiet ones: its rate so far says little before half of it has passed. */
const LONG_STEP_MS = 43_200_000;

/** The parts of a small line up to `at`: steps, merged if there are many; the unfinished last one is scaled to full length. */
export function sparklineBuckets(
  { stepMs, points }: Series,
  spanMs: number,
  at: number,
): readonly Counts[] {
  const steps = Math.max(1, Math.round(spanMs / stepMs));
  const length = Math.ceil(steps / MAX_BUCKETS) * stepMs;
  // All begin after the span does: the step in which the span begins is not whole, and unknown.
  const partsUntil = (end: number): number =>
    Math.max(2, Math.ceil((end - at + spanMs) / length) - 1);
  const before = Math.floor((at - REPORT_DELAY_MS) / stepMs) * stepMs;
  const lasted = at - before;
  const least = stepMs >= LONG_STEP_MS ? stepMs / 2 : MIN_DRAWN_MS + REPORT_DELAY_MS;
  if (lasted >= stepMs || lasted < least) {
    const parts = partsUntil(before);
    return toBuckets(points, before - parts * length, before, parts);
  }
  const to = before + stepMs;
  const parts = partsUntil(to);
  const counts = toBuckets(points, to - parts * length, to, parts);
  const last = length - (to - at);
  return counts.map((one, i) => (i === parts - 1 ? scaleCounts(one, length / last) : one));
}

function scaleCounts({ allowed, denied, degraded }: Counts, factor: number): Counts {
  return { allowed: allowed * factor, denied: denied * factor, degraded: degraded * factor };
}

/** The points from `from` to `to`, merged into `parts` of equal length. */
export function toBuckets(
  points: readonly Point[],
  from: number,
  to: number,
  parts: number,
): readonly Counts[] {
  const groups: Point[][] = Array.from({ length: parts }, () => []);
  for (const point of points) {
    groups[Math.floor(((point.at - from) / (to - from)) * parts)]?.push(point);
  }
  return groups.map(sumCounts);
}

/** A number for each second: `0`, `< 0.01`, `0.25`, `7.4`, `1,240`. */
export function formatRate(rate: number): string {
  if (rate === 0) return "0";
  if (rate < 0.01) return "< 0.01";
  if (rate < 10) return String(Number(rate.toPrecision(2)));
  return rate < 100 ? rate.toFixed(1) : formatCount(Math.round(rate));
}
