// Draws docs/images/shedding.svg from docs/images/shedding.json: a run of test/bench/shed.mjs. With --check, fails when the committed
// picture is not what the committed run looks like, instead of writing it.
//
//   npx -y pnpm@10.34.9 build
//   node test/bench/shed.mjs --save
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { percent, pictureOf } from "../test/bench/shed/tables.mjs";
import { USEFUL_MS } from "../test/bench/shed/workloads.mjs";
import { drawPicture, text, WORDS } from "./picture.mjs";

const images = join(import.meta.dirname, "../docs/images");
const dataFile = join(images, "shedding.json");
const pictureFile = join(images, "shedding.svg");

const WIDTH = 1_000;
const HEIGHT = 380;
const PANEL = { top: 96, height: 210, width: 410 };
const LEFTS = [64, 560];
const LEGEND_Y = 348;

/** The longest wait that is drawn, in milliseconds. */
const MOST_MS = 1_000;

/** Colours by use: for a light page, and for a dark one. */
const COLORS = {
  ...WORDS,
  line: ["#d1d9e1", "#3d444e"],
  none: ["#8a939d", "#7d8590"],
  "under-pressure": ["#b45f06", "#e0a458"],
  "toobusy-js": ["#7a3fc0", "#b58cf0"],
  Headgate: ["#1a72d0", "#4c9bf0"],
};
const colorOf = (use) => COLORS[use][0];

/** Both panels are of connections that serve one request each: a pool of connections bounds the queue by itself. */
const CONNECTIONS = "one per request";

/** Lines that lie on each other are all seen: the wider ones are drawn first. */
const WIDTHS = { none: 7, "under-pressure": 4, "toobusy-js": 1.5, Headgate: 3 };

function line(contender, gridIndex, data) {
  return {
    type: "line",
    xAxisIndex: gridIndex,
    yAxisIndex: gridIndex,
    data,
    symbolSize: WIDTHS[contender] + 4,
    lineStyle: { color: colorOf(contender), width: WIDTHS[contender] },
    itemStyle: { color: colorOf(contender) },
  };
}

function draw(run) {
  const contenders = pictureOf(run, CONNECTIONS);
  const usefulOf = ({ usefulPerSecond, capacity }) => (100 * usefulPerSecond) / capacity;
  const waitOf = ({ p50Ms }) => (p50Ms === null ? null : Math.min(MOST_MS, p50Ms));
  const chart = {
    grid: LEFTS.map((left) => ({ left, ...PANEL })),
    xAxis: LEFTS.map((_, gridIndex) => ({
      gridIndex,
      type: "value",
      min: 0.5,
      max: 3,
      interval: 0.5,
      axisLine: { lineStyle: { color: colorOf("line") } },
      axisTick: { show: false },
      axisLabel: { color: colorOf("quiet"), fontSize: 11, formatter: "{value} ×" },
      splitLine: { show: false },
    })),
    yAxis: [
      { max: 120, interval: 40, format: "{value} %" },
      { max: MOST_MS, interval: 250, format: "{value} ms" },
    ].map(({ format, ...axis }, gridIndex) => ({
      ...axis,
      gridIndex,
      type: "value",
      min: 0,
      axisLabel: { color: colorOf("quiet"), fontSize: 11, formatter: format },
      splitLine: { lineStyle: { color: colorOf("line"), type: [2, 3] } },
    })),
    series: contenders.flatMap(({ contender, points }) => [
      line(
        contender,
        0,
        points.map((point) => [point.load, Math.min(120, usefulOf(point))]),
      ),
      line(
        contender,
        1,
        points.map((point) => [point.load, waitOf(point)]),
      ),
    ]),
    graphic: [
      text(12, 12, "A server with more requests than it can handle", {
        size: 16,
        color: colorOf("text"),
        weight: "bold",
      }),
      text(
        12,
        38,
        "Fastify, handlers of 5 ms, a connection for each request; the load in multiples of what the server can handle.",
      ),
      text(12, 70, `Answered within ${USEFUL_MS} ms, in % of what it can handle`, {
        color: colorOf("text"),
      }),
      text(LEFTS[1] - 52, 70, "Median time of an answer, in ms (1,000: or longer)", {
        color: colorOf("text"),
      }),
      ...contenders.flatMap(({ contender }, i) => {
        const x = LEFTS[0] + i * 170;
        const shape = { x, y: LEGEND_Y, width: 11, height: 11 };
        const style = { fill: colorOf(contender) };
        return [
          { type: "rect", silent: true, shape, style },
          text(x + 17, LEGEND_Y + 1, contender === "none" ? "no shedding" : contender),
        ];
      }),
    ],
  };
  const last = contenders.map(({ contender, points }) => {
    const point = points.at(-1);
    return `${contender}: ${percent(usefulOf(point) / 100)} of capacity within ${USEFUL_MS} ms`;
  });
  return drawPicture({
    width: WIDTH,
    height: HEIGHT,
    chart,
    colors: COLORS,
    title: "Useful answers and waits under rising load, with and without load shedding",
    description: `At three times the load: ${last.join("; ")}.`,
  });
}

const picture = draw(JSON.parse(readFileSync(dataFile, "utf8")));
if (!process.argv.includes("--check")) writeFileSync(pictureFile, picture);
else if (readFileSync(pictureFile, "utf8") !== picture) {
  console.error(
    "docs/images/shedding.svg is not what its run looks like: node scripts/draw-shedding.mjs",
  );
  process.exit(1);
}
