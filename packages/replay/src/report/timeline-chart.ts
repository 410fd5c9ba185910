import { formatShortCount } from "../format/number.ts";
import { formatSpan } from "../format/time.ts";
import type { Chart, Plot } from "./chart.ts";
import { drawArea, drawBottomAxis, drawLeftAxis, steps } from "./chart.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { timeTicks } from "./time-ticks.ts";

/** Requests and denials, by column. */
export interface Timeline {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly columnMs: number;
  readonly requests: readonly number[];
  readonly denied: readonly number[];
}

const HEIGHT = 190;
const LEFT = 44;
const RIGHT = 20;

/** The width of a time label in pixels. */
const TICK = 72;

/** Draws denials on top of admitted requests over time. `most` is the end of the scale, in requests per column. */
export function timelineChart(timeline: Timeline, width: number, most: number): Chart {
  const { from, columnMs, requests } = timeline;
  const plot = { left: LEFT, right: width - RIGHT, top: 28, bottom: HEIGHT - 45 };
  const { left, right, top, bottom } = plot;
  const lasts = columnMs * requests.length;
  const times = timeTicks(from, from + lasts, (right - left) / TICK).map(({ at, label }) => ({
    at: left + ((at - from) / lasts) * (right - left),
    label,
  }));
  const counts = [0, most / 2, most].map((count) => ({
    at: bottom - (count / most) * (bottom - top),
    label: formatShortCount(count),
  }));
  return {
    width,
    height: HEIGHT,
    shapes: html`${drawLeftAxis(plot, counts, `requests per ${formatSpan(columnMs)}`)}${drawBottomAxis(plot, times, "time of the log (UTC)")}${drawAreas(timeline, plot, most)}`,
  };
}

/** Draws a timeline without axes, as small as a word. */
export function sparkChart(timeline: Timeline, width: number, height: number): Chart {
  const plot = { left: 0, right: width, top: 1, bottom: height - 1 };
  const most = Math.max(1, ...timeline.requests);
  return { width, height, shapes: drawAreas(timeline, plot, most) };
}

/** Draws all requests in the color of denials, and the admitted ones over them. */
function drawAreas({ requests, denied }: Timeline, plot: Plot, most: number): Markup {
  const admitted = requests.map((count, i) => count - (denied[i] ?? 0));
  return html`${drawArea(columns(requests, plot, most), "denied")}${drawArea(columns(admitted, plot, most), "admitted")}`;
}

function columns(counts: readonly number[], { left, right, top, bottom }: Plot, most: number) {
  const width = (right - left) / counts.length;
  const points = counts.map(
    (count, i) => [left + (i + 1) * width, bottom - (count / most) * (bottom - top)] as const,
  );
  return `M${left} ${bottom}${steps(points)}V${bottom}Z`;
}

/** Merges the columns of a timeline, to at most `most` columns. */
export function mergeColumns(timeline: Timeline, maxColumns: number): Timeline {
  const { from, columnMs, requests, denied } = timeline;
  const each = Math.ceil(requests.length / maxColumns);
  if (each <= 1) return timeline;
  const merge = (counts: readonly number[]): number[] =>
    Array.from({ length: Math.ceil(requests.length / each) }, (_, i) =>
      counts.slice(i * each, (i + 1) * each).reduce((sum, count) => sum + count, 0),
    );
  return { from, columnMs: columnMs * each, requests: merge(requests), denied: merge(denied) };
}

/** Rounds up to 2, 4, 6, 8, 10, 20, 40, ..., whose halves are integers. */
export function roundUp(count: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, count)));
  const found = [2, 4, 6, 8, 10].find((times) => times * power >= count) ?? 10;
  return found * power;
}
