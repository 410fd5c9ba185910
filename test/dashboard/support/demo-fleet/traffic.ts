import type { Counts, Point, Span } from "../../../../packages/dashboard/src/counts.ts";
import { REPORT_DELAY_MS, SPAN_MS } from "../../../../packages/dashboard/src/counts.ts";
import { STEP_MS } from "../../../../packages/dashboard/src/views/usage-series.ts";

const DAY = 86_400_000;

/** The traffic of a limiter. */
export interface TrafficShape {
  /** Requests a second at noon. */
  readonly rate: number;
  /** The share that is denied on an ordinary day. */
  readonly denied: number;
  /** Requests a second of an attack that began 22 minutes ago, nearly all denied. */
  readonly attackRate?: number;
  /** How many minutes ago Redis was unavailable for a minute, if it was. */
  readonly outageMinutesAgo?: number;
}

/** The decisions of a limiter over a span that ends at `at`. */
export function seriesOf(
  shape: TrafficShape,
  span: Span,
  at: number,
  seed: number,
): readonly Point[] {
  const stepMs = STEP_MS[span];
  const random = randomFrom(seed);
  const points: Point[] = [];
  const first = Math.ceil((at - SPAN_MS[span]) / stepMs);
  for (let step = first; step * stepMs < at; step += 1) {
    const from = step * stepMs;
    const part = Math.min(1, (at - from) / stepMs);
    points.push({ at: from, ...pointOf(shape, from, at, (stepMs / 1_000) * part, random) });
  }
  return points.filter(({ allowed, denied }) => allowed + denied > 0);
}

/** The decisions of the last minute that all processes have reported. */
export function lastMinuteOf(shape: TrafficShape, at: number, seed: number): readonly Point[] {
  const stepMs = STEP_MS["1h"];
  const end = Math.floor((at - REPORT_DELAY_MS) / stepMs) * stepMs;
  return seriesOf(shape, "1h", at, seed).filter((one) => one.at >= end - 60_000 && one.at < end);
}

function pointOf(
  shape: TrafficShape,
  from: number,
  at: number,
  seconds: number,
  random: () => number,
): Counts {
  const day = 0.55 + 0.45 * Math.sin(((from % DAY) / DAY) * 2 * Math.PI - Math.PI / 2.4);
  const usual = shape.rate * day * (0.85 + 0.3 * random()) * seconds;
  const ago = (at - from) / 60_000;
  const wave = 0.75 + 0.25 * Math.sin(ago * 1.7) + 0.12 * random();
  const isLong = seconds > 700;
  const attacked = ago < 22 ? (shape.attackRate ?? 0) * wave * seconds * (isLong ? 0.37 : 1) : 0;
  const denied = Math.round(usual * shape.denied * (0.3 + 1.4 * random()) + attacked * 0.97);
  const allowed = Math.round(usual * (1 - shape.denied) + attacked * 0.03);
  const isAway =
    shape.outageMinutesAgo !== undefined && Math.abs(ago - shape.outageMinutesAgo) < 0.5;
  return { allowed, denied, degraded: isAway ? allowed + denied : 0 };
}

/** Numbers from 0 to 1 that are the same in each run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
