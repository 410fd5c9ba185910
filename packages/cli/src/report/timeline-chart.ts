import { formatSpan } from "../output/time.ts";
import { formatShortCount } from "./amounts.ts";
import { nameAbove, nameOfAxis } from "./axis-name.ts";
import { colorOf } from "./colors.ts";
import type { Chart } from "./draw-chart.ts";
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

/** Pixels that a label of a moment takes. */
const TICK = 72;

/** Denials on top of what was admitted, over time; `most` is where its scale ends, in requests of a column. */
export function timelineChart(timeline: Timeline, width: number, most: number): Chart {
  const { from, columnMs, requests } = timeline;
  const to = from + columnMs * requests.length;
  const ticks = timeTicks(from, to, (width - LEFT - RIGHT) / TICK);
  const labels = new Map(ticks.map(({ at, label }) => [at - from, label]));
  const customValues = [...labels.keys()];
  return {
    width,
    height: HEIGHT,
    option: {
      grid: { left: LEFT, right: RIGHT, top: 28, bottom: 44 },
      xAxis: {
        type: "value",
        min: 0,
        max: to - from,
        ...nameOfAxis("time of the log (UTC)", 28),
        splitLine: { show: false },
        axisLine: { onZero: false, lineStyle: { color: colorOf("line") } },
        axisTick: { customValues, lineStyle: { color: colorOf("line") } },
        axisLabel: {
          customValues,
          color: colorOf("quiet"),
          formatter: (at: number) => labels.get(at) ?? "",
        },
      },
      yAxis: {
        type: "value",
        min: 0,
        max: most,
        interval: most / 2,
        ...nameAbove(`requests per ${formatSpan(columnMs)}`),
        axisLine: { show: false },
        axisTick: { show: false },
        splitLine: { lineStyle: { color: colorOf("line") } },
        axisLabel: { color: colorOf("quiet"), formatter: formatShortCount },
      },
      series: areas(timeline),
    },
  };
}

/** The same, as small as a word. */
export function sparkChart(timeline: Timeline, width: number, height: number): Chart {
  const { columnMs, requests } = timeline;
  return {
    width,
    height,
    option: {
      grid: { left: 0, right: 0, top: 1, bottom: 1 },
      xAxis: {
        type: "value",
        show: false,
        min: 0,
        max: columnMs * requests.length,
      },
      yAxis: { type: "value", show: false, min: 0, max: Math.max(1, ...requests) },
      series: areas(timeline),
    },
  };
}

/** All requests in the colour of denials, and before them what was admitted. */
function areas({ columnMs, requests, denied }: Timeline): object[] {
  const admitted = requests.map((count, i) => count - (denied[i] ?? 0));
  return [
    area(requests, columnMs, colorOf("denied")),
    area(admitted, columnMs, colorOf("admitted")),
  ];
}

function area(counts: readonly number[], columnMs: number, color: string): object {
  // The last column is as wide as the others.
  const ends = [...counts, counts.at(-1) ?? 0];
  return {
    type: "line",
    step: "end",
    symbol: "none",
    silent: true,
    clip: false,
    emphasis: { disabled: true },
    lineStyle: { width: 0 },
    areaStyle: { color, opacity: 1 },
    data: ends.map((count, i) => [i * columnMs, count]),
  };
}

/** The same counts in at most `most` columns. */
export function mergeColumns(timeline: Timeline, most: number): Timeline {
  const { from, columnMs, requests, denied } = timeline;
  const each = Math.ceil(requests.length / most);
  if (each <= 1) return timeline;
  const merge = (counts: readonly number[]): number[] =>
    Array.from({ length: Math.ceil(requests.length / each) }, (_, i) =>
      counts.slice(i * each, (i + 1) * each).reduce((sum, count) => sum + count, 0),
    );
  return { from, columnMs: columnMs * each, requests: merge(requests), denied: merge(denied) };
}

/** The next of 2, 4, 6, 8, 10, 20, 40, ... whose half is whole. */
export function roundUp(count: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, count)));
  const found = [2, 4, 6, 8, 10].find((times) => times * power >= count) ?? 10;
  return found * power;
}
