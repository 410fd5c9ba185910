import type { Counts, Point } from "../../../src/api.ts";

/** Decisions over time. */
export interface Series {
  /** In milliseconds. */
  readonly stepMs: number;
  readonly points: readonly Point[];
}

/** A step is complete when all processes have reported it, which takes a few seconds: milliseconds. */
const REPORTED_AFTER = 6_000;

/** Decisions per second in a completed period. */
export interface Rates extends Counts {
  /** How long it was, in milliseconds. */
  readonly overMs: number;
}

/** The last complete steps that make up a minute; of longer steps, the last one. */
export function latestRates({ stepMs, points }: Series, at: number): Rates {
  const overMs = Math.max(stepMs, 60_000);
  const end = Math.floor((at - REPORTED_AFTER) / stepMs) * stepMs;
  const within = points.filter((point) => point.at >= end - overMs && point.at < end);
  return { ...perSecond(sum(within), overMs), overMs };
}

/** All decisions of a list. */
function sum(counts: readonly Counts[]): Counts {
  return counts.reduce(
    (all, one) => ({
      allowed: all.allowed + one.allowed,
      denied: all.denied + one.denied,
      degraded: all.degraded + one.degraded,
    }),
    { allowed: 0, denied: 0, degraded: 0 },
  );
}

function perSecond({ allowed, denied, degraded }: Counts, ms: number): Counts {
  const seconds = ms / 1_000;
  return { allowed: allowed / seconds, denied: denied / seconds, degraded: degraded / seconds };
}

/** The columns of a chart, as rates per second. */
export interface Columns {
  /** Seconds since the epoch: the middle of each step. */
  readonly times: number[];
  readonly requests: (number | null)[];
  readonly allowed: (number | null)[];
  readonly degraded: (number | null)[];
}

/**
 * A value for each step of a span: 0 if nothing was decided, null before `knownFrom` and for a step that is not complete at
 * `to`.
 */
export function columnsOf(
  { stepMs, points }: Series,
  from: number,
  to: number,
  knownFrom: number,
): Columns {
  const byStep = new Map(points.map((point) => [Math.floor(point.at / stepMs), point]));
  const columns: Columns = { times: [], requests: [], allowed: [], degraded: [] };
  for (let step = Math.ceil(from / stepMs); step * stepMs < to; step += 1) {
    const isKnown = (step + 1) * stepMs > knownFrom && (step + 1) * stepMs <= to - REPORTED_AFTER;
    addStep(columns, step * stepMs, stepMs, isKnown ? (byStep.get(step) ?? NONE) : undefined);
  }
  return columns;
}

const NONE: Counts = { allowed: 0, denied: 0, degraded: 0 };

function addStep(columns: Columns, from: number, stepMs: number, counts: Counts | undefined): void {
  const rates = counts && perSecond(counts, stepMs);
  columns.times.push((from + stepMs / 2) / 1_000);
  columns.requests.push(rates ? rates.allowed + rates.denied : null);
  columns.allowed.push(rates ? rates.allowed : null);
  columns.degraded.push(rates ? rates.degraded : null);
}

/** The most parts of a small line. */
const MOST_PARTS = 60;

/** The parts of a small line: whole steps up to `at`, merged if there are many. */
export function lineParts(
  { stepMs, points }: Series,
  spanMs: number,
  at: number,
): readonly Counts[] {
  const steps = Math.max(1, Math.round(spanMs / stepMs));
  const together = Math.ceil(steps / MOST_PARTS);
  // The first would begin before the span does.
  const parts = Math.max(2, Math.floor(steps / together) - 1);
  const to = Math.floor((at - REPORTED_AFTER) / stepMs) * stepMs;
  return inParts(points, to - parts * together * stepMs, to, parts);
}

/** The points from `from` to `to`, merged into `parts` of equal length. */
export function inParts(
  points: readonly Point[],
  from: number,
  to: number,
  parts: number,
): readonly Counts[] {
  const groups: Point[][] = Array.from({ length: parts }, () => []);
  for (const point of points) {
    groups[Math.floor(((point.at - from) / (to - from)) * parts)]?.push(point);
  }
  return groups.map(sum);
}
