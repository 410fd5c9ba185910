import { formatCount, formatShortCount, pluralize } from "../format/number.ts";
import { formatSpan, formatUtcTime } from "../format/time.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import type { Chart, Plot } from "./chart.ts";
import {
  drawArea,
  drawBottomAxis,
  drawLeftAxis,
  renderDetails,
  renderFigure,
  renderLegend,
  steps,
} from "./chart.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { renderTable } from "./table.ts";
import { renderName, renderTime } from "./verdict.ts";

/** The most columns of a narrow chart. */
const NARROW_COLUMNS = 80;

/** Renders admitted and denied requests over time. */
export function renderTimelines(result: ReplayResult, drawn: readonly PolicyResult[]): Markup {
  const { timeline, columnMs, log } = result;
  if (log.from === null) return html``;
  const from = log.from;
  const charts = drawn.map((policy, i) => {
    const name = drawn.length === 1 ? html`` : html` under “${renderName(policy)}”`;
    return renderPolicy(policy, i, name, {
      from,
      columnMs,
      requests: timeline,
      denied: policy.timeline,
    });
  });
  return html`<h2>Requests over time</h2>
${charts}${renderDetails("Requests over time, as a table", tableOf(result, from, drawn))}`;
}

function renderPolicy(policy: PolicyResult, i: number, name: Markup, timeline: Timeline): Markup {
  const { columnMs, denied, from } = timeline;
  const most = denied.reduce((at, count, column) => (count > (denied[at] ?? 0) ? column : at), 0);
  const worst =
    policy.denied === 0
      ? html`No request would have been denied.`
      : html`Most would have been denied at ${renderTime(from + most * columnMs)} UTC: ${formatCount(denied[most] ?? 0)} within ${formatSpan(columnMs)}.`;
  return renderFigure(
    {
      id: `when-${i + 1}`,
      title: "Requests over time, admitted and denied",
      description: `${pluralize(policy.allowed, "request")} admitted, ${formatCount(policy.denied)} denied`,
      caption: html`Requests over time${name}. ${worst}`,
      legend: renderLegend([
        { use: "admitted", words: "admitted" },
        { use: "denied", words: "denied" },
      ]),
    },
    (width) => {
      const shown = width < 500 ? mergeColumns(timeline, NARROW_COLUMNS) : timeline;
      return timelineChart(shown, width, roundUp(Math.max(...shown.requests)));
    },
  );
}

function tableOf(
  { timeline, columnMs }: ReplayResult,
  from: number,
  drawn: readonly PolicyResult[],
): Markup {
  const deniedBy = drawn.map((policy) =>
    drawn.length === 1 ? { title: "Denied" } : { title: html`Denied by ${renderName(policy)}` },
  );
  return renderTable({
    caption: `Requests and denials in each ${formatSpan(columnMs)}`,
    columns: [{ title: "From (UTC)" }, { title: "Requests" }, ...deniedBy],
    rows: timeline.map((requests, column) => [
      formatUtcTime(from + column * columnMs),
      formatCount(requests),
      ...drawn.map((policy) => formatCount(policy.timeline[column] ?? 0)),
    ]),
  });
}

/** Requests and denials, by column. */
interface Timeline {
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
function timelineChart(timeline: Timeline, width: number, most: number): Chart {
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
function roundUp(count: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, count)));
  const found = [2, 4, 6, 8, 10].find((times) => times * power >= count) ?? 10;
  return found * power;
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

const STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000].map((count) => count * DAY),
];

/** A tick of a time axis with its label. */
interface TimeTick {
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
