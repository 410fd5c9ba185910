import { formatCount, formatShare, formatShortCount, pluralize } from "../format/number.ts";
import { formatSpan } from "../format/time.ts";
import type { ClientPeaks, LimitGrant, PolicyResult } from "../replay/result.ts";
import type { Chart, Plot, Tick } from "./chart.ts";
import {
  crisp,
  drawBottomAxis,
  drawLeftAxis,
  drawLine,
  drawText,
  renderDetails,
  renderFigure,
  renderLegend,
  round,
  steps,
} from "./chart.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { renderTable } from "./table.ts";
import { renderName } from "./verdict.ts";

/** The most windows that are drawn. */
const MAX_WINDOWS = 8;

/** Renders the peak rates of clients, with the limits of the policies. */
export function renderPeaks(peaks: readonly ClientPeaks[], drawn: readonly PolicyResult[]): Markup {
  const shown = peaks.filter(({ counts }) => counts.length > 0).slice(0, MAX_WINDOWS);
  if (shown.length === 0) return html``;
  return html`<h2>Peak rates of clients</h2>
<p>Each blue line shows how many clients made at least so many requests within a window: all clients at its left end, the busiest one at its right end. A client to the right of a limit may still have been admitted, because a limit recovers over time.</p>
${shown.map((one, i) => renderWindow(one, i, drawn))}`;
}

function renderWindow(peaks: ClientPeaks, i: number, drawn: readonly PolicyResult[]): Markup {
  const window = formatSpan(peaks.windowMs);
  const lines = limitLines(
    drawn.map(({ description }) => description.grants),
    peaks.windowMs,
  );
  const most = peaks.counts.at(-1)?.peak ?? 0;
  const error = peaks.error > 0 ? `, or up to ${peaks.error * 100} % more` : "";
  const caption = `Within ${window}, the busiest client made ${pluralize(most, "request")}${error}`;
  const above = lines.map((line) => describeLine(line, peaks, drawn));
  return html`${renderFigure(
    {
      id: `busy-${i + 1}`,
      title: `Clients by the most requests they made within ${window}`,
      description: `${caption}; ${lines.map(({ units }) => `${countClientsAbove(peaks, units)} exceeded ${units}`).join("; ")}`,
      caption: html`${caption}`,
      legend: html`${renderLegend([
        { use: "admitted", words: "clients" },
        ...(lines.length > 0 ? [{ use: "policy" as const, words: "limits" }] : []),
      ])}${above.map((one) => html`<br>${one}`)}`,
    },
    (width) => peaksChart(peaks, lines, width),
  )}${renderDetails(`Clients by the most requests they made within ${window}, as a table`, tableOf(peaks, window))}`;
}

function describeLine(
  { policy, units }: LimitLine,
  peaks: ClientPeaks,
  drawn: readonly PolicyResult[],
): Markup {
  const [only] = drawn;
  const name =
    drawn.length === 1 || only === undefined
      ? html`The limit`
      : renderName(drawn[policy - 1] as PolicyResult);
  return html`${name} allows ${formatCount(units)}; ${pluralize(countClientsAbove(peaks, units), "client")} made more.`;
}

function countClientsAbove({ counts }: ClientPeaks, units: number): number {
  return counts.reduce((sum, { peak, clients }) => (peak > units ? sum + clients : sum), 0);
}

/** Renders the clients by powers of two of their peak. */
function tableOf({ counts }: ClientPeaks, window: string): Markup {
  const all = clientsByPeak(counts);
  const [whole] = all;
  const mostPeak = counts.at(-1)?.peak ?? 1;
  const powers = Array.from({ length: Math.floor(Math.log2(mostPeak)) + 1 }, (_, n) => 2 ** n);
  const clientsWith = (least: number): number =>
    all.find(({ peak }) => peak >= least)?.clients ?? 0;
  return renderTable({
    caption: `Clients by the most requests they made within ${window}`,
    columns: [{ title: "Requests" }, { title: "Clients" }, { title: "Share" }],
    rows: powers.map((least) => [
      `at least ${formatCount(least)}`,
      formatCount(clientsWith(least)),
      formatShare(clientsWith(least), whole?.clients ?? 0),
    ]),
  });
}

/** A limit drawn as a line among the peaks of clients. */
interface LimitLine {
  /** The number of the policy, from 1. */
  readonly policy: number;
  /** The units of the limit. */
  readonly units: number;
}

/** The lines of all limits with this window, in milliseconds. The window of a limit is the time in which it fully recovers. */
export function limitLines(
  policies: readonly (readonly LimitGrant[])[],
  window: number,
): LimitLine[] {
  return policies.flatMap((grants, i) =>
    grants
      .filter(({ units, windowMs }) => units > 0 && windowMs === window)
      .map(({ units }) => ({ policy: i + 1, units })),
  );
}

const HEIGHT = 234;
const LEFT = 44;
const RIGHT = 24;

/** The most points of a line. */
const MAX_POINTS = 200;

/** The width of a character of a label in pixels. */
const CHARACTER = 8;

/** The number of clients whose peak is at least this high. */
interface ClientsAtPeak {
  readonly peak: number;
  readonly clients: number;
}

/** Draws the number of clients over their peaks, both on logarithmic scales, with limits as vertical lines. */
function peaksChart(
  { counts, windowMs }: ClientPeaks,
  lines: readonly LimitLine[],
  width: number,
): Chart {
  const plot = { left: LEFT, right: width - RIGHT, top: 58, bottom: HEIGHT - 45 };
  const reached = thinOut(clientsByPeak(counts));
  const mostPeak = Math.max(...reached.map(({ peak }) => peak), ...lines.map(({ units }) => units));
  const right = decadeTop(mostPeak * 1.05);
  const top = decadeTop((reached[0]?.clients ?? 1) * 1.05);
  const xOf = scale(right, plot.left, plot.right);
  const yOf = scale(top, plot.bottom, plot.top);
  const points = reached.map(({ peak, clients }) => [xOf(peak), yOf(clients)] as const);
  const [x, y] = points[0]?.map(round) ?? [plot.left, plot.bottom];
  const xTicks = ticksTo(right, (plot.right - plot.left) / 40, xOf);
  const yTicks = ticksTo(top, 5, yOf);
  const yMarks = yTicks.map(({ at }) => `M${plot.left} ${crisp(at)}h-5`).join("");
  return {
    width,
    height: HEIGHT,
    shapes: html`${drawLeftAxis({ ...plot, top: plot.top - 18 }, yTicks, "clients")}${drawBottomAxis(plot, xTicks, `requests of a client within ${formatSpan(windowMs)}`)}${drawLine(`M${crisp(plot.left)} ${plot.bottom}V${plot.top}${yMarks}`, "line", 1)}${drawLine(`M${x} ${y}${steps(points.slice(1))}`, "admitted", 2)}${drawLimits(lines, plot, xOf)}`,
  };
}

function drawLimits(
  lines: readonly LimitLine[],
  { top, bottom }: Plot,
  xOf: (units: number) => number,
): Markup {
  if (lines.length === 0) return html``;
  const path = lines.map(({ units }) => `M${Math.round(xOf(units))} ${bottom}V${top}`).join("");
  const labels = groupLines(lines, xOf).map(({ label, at }) =>
    drawText(label, at, top - 11, "middle", "text"),
  );
  return html`${drawLine(path, "policy", 2)}${labels}`;
}

/** The pixel of a count on a logarithmic scale from 1 to `end`. */
function scale(end: number, first: number, last: number): (count: number) => number {
  return (count) => first + (Math.log10(count) / Math.log10(end)) * (last - first);
}

/** For each peak, the number of clients that reach it, beginning with all clients. */
function clientsByPeak(counts: ClientPeaks["counts"]): ClientsAtPeak[] {
  let clients = counts.reduce((sum, one) => sum + one.clients, 0);
  return counts.map((one) => {
    const reached = { peak: one.peak, clients };
    clients -= one.clients;
    return reached;
  });
}

/** Keeps the first and the last point, and the first one in each of equal parts of the scale. */
function thinOut(reached: readonly ClientsAtPeak[]): readonly ClientsAtPeak[] {
  if (reached.length <= MAX_POINTS) return reached;
  const part = Math.log(reached.at(-1)?.peak ?? 1) / MAX_POINTS;
  const partOf = (i: number): number => Math.floor(Math.log(reached[i]?.peak ?? 1) / part);
  return reached.filter(
    (_, i) => i === 0 || i === reached.length - 1 || partOf(i) !== partOf(i - 1),
  );
}

/** Ticks of a logarithmic axis at 1, 2, 5, 10, ..., or fewer if there is no room for them. */
function ticksTo(end: number, room: number, pixelOf: (count: number) => number): Tick[] {
  const decades = Math.ceil(Math.log10(end));
  const factors = decades * 3 + 1 <= room ? [1, 2, 5] : [1];
  const each = Math.max(1, Math.ceil((decades + 1) / room));
  return Array.from({ length: decades + 1 }, (_, power) => power)
    .filter((power) => power % each === 0)
    .flatMap((power) => factors.map((factor) => factor * 10 ** power))
    .filter((count) => count <= end)
    .map((count) => ({ at: pixelOf(count), label: formatShortCount(count) }));
}

/** The next of 2, 5, 10, 20, ... */
function decadeTop(count: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, count)));
  return ([2, 5, 10].find((times) => times * power >= count) ?? 10) * power;
}

/** The labels of the lines; labels that would overlap are merged. */
function groupLines(
  lines: readonly LimitLine[],
  xOf: (units: number) => number,
): { readonly label: string; readonly at: number }[] {
  const groups: { units: number[]; at: number }[] = [];
  for (const units of [...new Set(lines.map((line) => line.units))].sort((a, b) => a - b)) {
    const last = groups.at(-1);
    const at = xOf(units);
    if (last === undefined || rightEdgeOf(last) <= at - halfLabelWidth([units])) {
      groups.push({ units: [units], at });
    } else {
      last.units.push(units);
      last.at = (last.at + at) / 2;
    }
  }
  return groups.map(({ units, at }) => ({ label: labelOf(units), at }));
}

function rightEdgeOf(group: { readonly units: readonly number[]; readonly at: number }): number {
  return group.at + halfLabelWidth(group.units);
}

function halfLabelWidth(units: readonly number[]): number {
  return (labelOf(units).length / 2) * CHARACTER;
}

function labelOf(units: readonly number[]): string {
  const [least, most] = [units.at(0) ?? 0, units.at(-1) ?? 0].map(formatShortCount);
  return least === most ? `limit ${least}` : `limits ${least}–${most}`;
}
