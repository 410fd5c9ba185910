// The shared parts of the documentation's pictures: the style of text, and the conversion of a chart into a static picture.
import * as echarts from "echarts";

const SANS = "-apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif";

/** Colours of words: for a light page, and for a dark one. */
export const WORDS = {
  text: ["#1f2328", "#e6edf3"],
  quiet: ["#59636e", "#9198a1"],
};
const [QUIET] = WORDS.quiet;

export function text(
  x,
  y,
  words,
  { size = 12, color = QUIET, font = SANS, weight = "normal", align = "left" } = {},
) {
  return {
    type: "text",
    silent: true,
    style: {
      text: words,
      x,
      y,
      fill: color,
      font: `${weight} ${size}px ${font}`,
      textAlign: align,
    },
  };
}

/**
 * Draws a chart as SVG with a description, in the reader's colour scheme, without what is only there for
 * interaction. `colors` are by use, for a light page and for a dark one.
 */
export function drawPicture({ width, height, chart: option, colors, title, description }) {
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption({ animation: false, textStyle: { fontFamily: SANS }, ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  const dark = Object.values(colors).map(
    ([light, inTheDark]) =>
      `[fill="${light}"]{fill:${inTheDark}}[stroke="${light}"]{stroke:${inTheDark}}`,
  );
  const head = `<title>${title}</title>
<desc>${description}</desc>
<style>@media (prefers-color-scheme: dark){${dark.join("")}}</style>
`;
  const still = svg
    .replace(/ (?:ecmeta_\w+|class)="[^"]*"/g, "")
    .replace(/<style ><!\[CDATA\[[\s\S]*?<\/style>\n?/g, "");
  return `${still.replace(/(<svg [^>]*>\n?)/, `$1${head}`)}\n`;
}
