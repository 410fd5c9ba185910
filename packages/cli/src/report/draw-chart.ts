import { BarChart, LineChart } from "echarts/charts";
import { GridComponent, MarkLineComponent } from "echarts/components";
import type { EChartsCoreOption } from "echarts/core";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

use([BarChart, LineChart, GridComponent, MarkLineComponent, SVGRenderer]);

/** What a chart is made of; sizes in pixels, colours of `COLORS`. */
export interface Chart {
  readonly width: number;
  readonly height: number;
  readonly option: EChartsCoreOption;
}

/** What those hear who do not see it. */
export interface ChartText {
  /** Unique on the page. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
}

/** Draws a chart that stands still: SVG without styles and scripts, for a page that has the colours. */
export function drawChart({ width, height, option }: Chart, text: ChartText): Markup {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption({ animation: false, ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  const { id, title, description } = text;
  return html`<svg role="img" aria-labelledby="${id}-title ${id}-text" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><title id="${id}-title">${title}</title><desc id="${id}-text">${description}</desc>${drawn(svg)}</svg>`;
}

/** What is there for interaction, for motion, or to be found by a script; and lines of no width. */
const UNUSED: readonly RegExp[] = [
  /^<svg [^>]*>\n?|<\/svg>\s*$/g,
  /<style ?>[\s\S]*?<\/style>\n?/g,
  /<defs ?>[\s\S]*?<\/defs>\n?/g,
  / (?:ecmeta_\w+|class|id|style|xml:space|clip-path|pointer-events)="[^"]*"/g,
  /<path [^>]*stroke-width="0"[^>]*><\/path>\n?/g,
  /<(?:path|rect)(?=[^>]* fill="none")(?![^>]* stroke=)[^>]*><\/(?:path|rect)>\n?/g,
];

/** What ECharts drew, to a tenth of a pixel. No text of a log is in it. */
function drawn(svg: string): Markup {
  const bare = UNUSED.reduce((rest, unused) => rest.replace(unused, ""), svg);
  const markup = bare.replace(/-?\d+\.\d+(?=[^<>]*>)/g, (number) =>
    String(Math.round(Number(number) * 10) / 10),
  );
  return { markup };
}
