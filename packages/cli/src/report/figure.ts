import type { Chart, ChartText } from "./chart.ts";
import { renderChart } from "./chart.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

/** Widths in pixels: of a page on a desk, and of one in a hand. */
const WIDE = 920;
const NARROW = 328;

interface Figure extends ChartText {
  /** The line above the chart. */
  readonly caption: Markup;
  /** The meaning of its colours. */
  readonly legend: Markup;
}

/** Draws a chart twice, because words that fit a desk cannot be read on a phone; the page shows one of them. */
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

/** Content that is folded away. */
export function renderDetails(summary: string, content: Markup): Markup {
  return html`<details><summary>${summary}</summary>
${content}</details>
`;
}

/** The meaning of the colours of a chart. */
export function renderLegend(
  uses: ReadonlyArray<{ readonly use: "admitted" | "denied" | "policy"; readonly words: string }>,
): Markup {
  const parts = uses.map(
    ({ use, words }) => html`<span class="swatch ${use}"></span><span>${words}</span>`,
  );
  return html`<span class="legend">${parts}</span>`;
}
