import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import type { ColorRole } from "./report-style.ts";

/** SVG shapes, and the size of the chart in pixels. */
export interface Chart {
  readonly width: number;
  readonly height: number;
  readonly shapes: Markup;
}

/** Texts for screen readers. */
export interface ChartText {
  /** Unique on the page. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
}

/** The rectangle between the axes, in pixels of the chart. */
export interface Plot {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** A tick of an axis, in pixels of the chart. */
export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** Renders a static chart without styles, in the colors of the page. */
export function renderChart({ width, height, shapes }: Chart, text: ChartText): Markup {
  const { id, title, description } = text;
  return html`<svg role="img" aria-labelledby="${id}-title ${id}-text" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><title id="${id}-title">${title}</title><desc id="${id}-text">${description}</desc>${shapes}</svg>`;
}

/** A text anchored at `x` and centered vertically on `y`. */
export function drawText(
  words: string,
  x: number,
  y: number,
  anchor: "start" | "middle" | "end",
  use: ColorRole = "quiet",
): Markup {
  return html`<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="var(--${use})">${words}</text>
`;
}

export function drawArea(path: string, use: ColorRole): Markup {
  return html`<path d="${path}" fill="var(--${use})"/>
`;
}

export function drawLine(path: string, use: ColorRole, width: number): Markup {
  return html`<path d="${path}" fill="none" stroke="var(--${use})" stroke-width="${width}"/>
`;
}

/** A step path: for each point, a vertical line to its y, then a horizontal line to its x. */
export function steps(points: ReadonlyArray<readonly [x: number, y: number]>): string {
  const rounded = points.map((point) => point.map(round));
  const ends = rounded.filter(([, y], i) => y !== rounded[i + 1]?.[1]);
  return ends.map(([x, y]) => `V${y}H${x}`).join("");
}

/** A bottom axis with its name centered below. */
export function drawBottomAxis(
  { left, right, bottom }: Plot,
  ticks: readonly Tick[],
  name: string,
): Markup {
  const marks = ticks.map(({ at }) => `M${crisp(at)} ${bottom}v5`).join("");
  const labels = ticks.map(({ at, label }) => drawText(label, at, bottom + 14, "middle"));
  return html`${drawLine(`M${left} ${crisp(bottom)}H${right}${marks}`, "line", 1)}${labels}${drawText(name, (left + right) / 2, bottom + 34, "middle")}`;
}

/** A left axis with a grid line at each label, and its name on top, where it is horizontal. */
export function drawLeftAxis(
  { left, right, top }: Plot,
  ticks: readonly Tick[],
  name: string,
): Markup {
  const lines = ticks.map(({ at }) => `M${left} ${crisp(at)}H${right}`).join("");
  const labels = ticks.map(({ at, label }) => drawText(label, left - 8, at, "end"));
  return html`${drawLine(lines, "line", 1)}${labels}${drawText(name, left - 40, top - 20, "start")}`;
}

/** Rounds to a tenth of a pixel. */
export function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

/** The middle of a pixel, where a one-pixel line is sharp. */
export function crisp(pixels: number): number {
  return Math.floor(pixels) + 0.5;
}

/** The widths of a chart on a desktop and on a phone, in pixels. */
const WIDE = 920;
const NARROW = 328;

interface Figure extends ChartText {
  /** The caption above the chart. */
  readonly caption: Markup;
  /** The legend of the colors. */
  readonly legend: Markup;
}

/** Draws a chart in two widths, because the labels of a wide one are illegible on a phone. The page shows one of them. */
export function renderFigure(
  { id, title, description, caption, legend }: Figure,
  draw: (width: number) => Chart,
): Markup {
  return html`<figure>
<figcaption><strong>${caption}</strong>
${legend}</figcaption>
<div class="wide">${renderChart(draw(WIDE), { id: `${id}-wide`, title, description })}</div>
<div class="narrow">${renderChart(draw(NARROW), { id: `${id}-narrow`, title, description })}</div>
</figure>
`;
}

/** Renders collapsed content. */
export function renderDetails(summary: string, content: Markup): Markup {
  return html`<details><summary>${summary}</summary>
${content}</details>
`;
}

/** Renders the legend of a chart. */
export function renderLegend(
  uses: ReadonlyArray<{ readonly use: "admitted" | "denied" | "policy"; readonly words: string }>,
): Markup {
  const parts = uses.map(
    ({ use, words }) => html`<span class="swatch ${use}"></span><span>${words}</span>`,
  );
  return html`<span class="legend">${parts}</span>`;
}
