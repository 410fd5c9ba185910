import type { Chart, ChartText } from "./chart.ts";
import { renderChart } from "./chart.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

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
