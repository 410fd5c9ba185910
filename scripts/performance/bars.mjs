import { drawPicture, text, WORDS } from "../picture.mjs";

const WIDTH = 1_000;
const LEFT = 250;
const RIGHT = 90;
const TOP = 64;
const ROW = 24;
const BETWEEN = 40;

/** Colours by use: for a light page, and for a dark one. */
const COLORS = {
  ...WORDS,
  ours: ["#1a72d0", "#4c9bf0"],
  peer: ["#f0a04b", "#b8661a"],
  floor: ["#c3cad2", "#4b535d"],
};
const LIGHT = Object.fromEntries(Object.entries(COLORS).map(([use, [light]]) => [use, light]));

/** Panels of horizontal bars below each other, on one scale. A panel is `{ title, bars: [{ name, kind, value, label }] }`. */
export function drawBars(title, subtitle, panels) {
  const tops = [];
  let height = TOP;
  for (const { bars } of panels) {
    tops.push(height + 22);
    height += bars.length * ROW + BETWEEN;
  }
  const most = Math.max(...panels.flatMap(({ bars }) => bars.map(({ value }) => value)));
  const chart = {
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
  };
  const descriptions = panels.map(
    (panel) =>
      `${panel.title}: ${panel.bars.map(({ name, label }) => `${name} ${label}`).join(", ")}`,
  );
  const description = `${descriptions.join(". ")}.`;
  return drawPicture({ width: WIDTH, height, chart, colors: COLORS, title, description });
}
