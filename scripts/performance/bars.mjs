import * as echarts from "echarts";

const WIDTH = 1_000;
const LEFT = 250;
const RIGHT = 90;
const TOP = 64;
const ROW = 24;
const BETWEEN = 40;

/** Colours by use: for a light page, and for a dark one. */
const COLORS = {
  text: ["#1f2328", "#e6edf3"],
  quiet: ["#59636e", "#9198a1"],
  ours: ["#1a72d0", "#4c9bf0"],
  peer: ["#f0a04b", "#b8661a"],
  floor: ["#c3cad2", "#4b535d"],
};
const LIGHT = Object.fromEntries(Object.entries(COLORS).map(([use, [light]]) => [use, light]));

const SANS = "-apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif";

/** Panels of horizontal bars below each other, on one scale. A panel is `{ title, bars: [{ name, kind, value, label }] }`. */
export function drawBars(title, subtitle, panels) {
  const tops = [];
  let height = TOP;
  for (const { bars } of panels) {
    tops.push(height + 22);
    height += bars.length * ROW + BETWEEN;
  }
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
  const most = Math.max(...panels.flatMap(({ bars }) => bars.map(({ value }) => value)));
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: SANS },
    grid: panels.map(({ bars }, i) => ({
      left: LEFT,
      right: RIGHT,
      top: tops[i],
      height: bars.length * ROW,
    })),
    xAxis: panels.map((_, gridIndex) => ({
      type: "value",
      gridIndex,
      min: 0,
      max: most,
      show: false,
    })),
    yAxis: panels.map(({ bars }, gridIndex) => ({
      type: "category",
      gridIndex,
      inverse: true,
      data: bars.map(({ name }) => name),
      axisTick: { show: false },
      axisLine: { show: false },
      axisLabel: { color: LIGHT.text, fontSize: 12 },
    })),
    series: panels.map(({ bars }, i) => ({
      type: "bar",
      xAxisIndex: i,
      yAxisIndex: i,
      barWidth: ROW * 0.66,
      silent: true,
      emphasis: { disabled: true },
      label: {
        show: true,
        position: "right",
        color: LIGHT.quiet,
        formatter: ({ dataIndex }) => bars[dataIndex].label,
      },
      data: bars.map(({ value, kind }) => ({ value, itemStyle: { color: LIGHT[kind] } })),
    })),
    graphic: [
      text(12, 12, title, { size: 16, color: LIGHT.text, weight: "bold" }),
      text(12, 36, subtitle),
      ...panels.map((panel, i) =>
        text(12, tops[i] - 18, panel.title, { size: 13, color: LIGHT.text, weight: "bold" }),
      ),
    ],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return finish(svg, title, panels);
}

function text(x, y, words, { size = 12, color = LIGHT.quiet, weight = "normal" } = {}) {
  const font = `${weight} ${size}px ${SANS}`;
  return { type: "text", silent: true, style: { text: words, x, y, fill: color, font } };
}

/** Says what it shows, follows the reader's colour scheme, and drops what is there for interaction only. */
function finish(svg, title, panels) {
  const dark = Object.values(COLORS).map(
    ([light, inTheDark]) =>
      `[fill="${light}"]{fill:${inTheDark}}[stroke="${light}"]{stroke:${inTheDark}}`,
  );
  const told = panels.map(
    (panel) =>
      `${panel.title}: ${panel.bars.map(({ name, label }) => `${name} ${label}`).join(", ")}`,
  );
  const head = `<title>${title}</title>
<desc>${told.join(". ")}.</desc>
<style>@media (prefers-color-scheme: dark){${dark.join("")}}</style>
`;
  const still = svg
    .replace(/ (?:ecmeta_\w+|class)="[^"]*"/g, "")
    .replace(/<style ><!\[CDATA\[[\s\S]*?<\/style>\n?/g, "");
  return `${still.replace(/(<svg [^>]*>\n?)/, `$1${head}`)}\n`;
}
