// Draws docs/images/algorithms.svg: each algorithm with the same limit facing the same traffic, decided by the real code.
// With --check, fails if the committed picture differs from the current decisions, instead of writing it.
//
//   npx -y pnpm@10.34.9 build
//   npx -y pnpm@10.34.9 draw
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { drawPicture, text, WORDS } from "./picture.mjs";

const SECONDS = 80;
const WINDOW_MS = 10_000;

const PANELS = [
  {
    title: ["gcra", "limit: 20, window: 10s, burst: 5"],
    limit: gcra({ limit: 20, window: "10s", burst: 5 }),
    see: ["5 at once, then one every half second:", "what it lets through is even"],
  },
  {
    title: ["tokenBucket", "capacity: 20, refill: 20, every: 10s"],
    limit: tokenBucket({ capacity: 20, refill: 20, every: "10s" }),
    see: ["20 at once after a pause, then 2 a second;", "gcra without burst does the same"],
  },
  {
    title: ["fixedWindow", "limit: 20, window: 10s, align: clock"],
    limit: fixedWindow({ limit: 20, window: "10s", align: "clock" }),
    see: ["both bursts pass, one in each window;", "then all at the start of every window"],
  },
  {
    title: ["slidingWindow", "limit: 20, window: 10s"],
    limit: slidingWindow({ limit: 20, window: "10s" }),
    see: [
      "the window before counts by the share still",
      "covered: close, now and then over the limit",
    ],
  },
  {
    title: ["slidingWindow", "limit: 20, window: 10s, buckets: 5"],
    limit: slidingWindow({ limit: 20, window: "10s", buckets: 5 }),
    see: ["never over the limit; units come back", "in steps of 2 s, at most one step late"],
  },
  {
    title: ["slidingLog", "limit: 20, window: 10s"],
    limit: slidingLog({ limit: 20, window: "10s" }),
    see: ["exactly 20 in any 10 s: each unit comes", "back 10 s after it was spent"],
  },
];

/** The moments of the requests, in milliseconds. */
const TRAFFIC = [...evenly(0, 20, 1), ...evenly(29, 31, 20), ...evenly(45, 75, 10)];

const PHASES = [
  { from: 0, to: 20, name: "steady, 1 a second" },
  { from: 29, to: 31, name: "two bursts of 20" },
  { from: 45, to: 75, name: "hammering, 10 a second" },
];

/** Requests in each second from one to another, evenly spread. */
function evenly(from, to, perSecond) {
  return Array.from(
    { length: (to - from) * perSecond },
    (_, i) => from * 1_000 + Math.floor(((i + 0.5) * 1_000) / perSecond),
  );
}

/** Returns the decisions of one limit for the traffic. */
async function decideAll(limit) {
  let now = 0;
  const limiter = createLimiter({
    limits: limit,
    store: memoryStore({ clock: () => now }),
    name: "picture",
  });
  const admitted = new Array(SECONDS).fill(0);
  const denied = new Array(SECONDS).fill(0);
  const times = [];
  for (now of TRAFFIC) {
    const { allowed } = await limiter.consume("client");
    (allowed ? admitted : denied)[Math.floor(now / 1_000)] += 1;
    if (allowed) times.push(now);
  }
  await limiter.close();
  return { admitted, denied, total: times.length, most: mostInAnyWindow(times) };
}

/** The most that was admitted in any window (t - 10 s, t]. */
function mostInAnyWindow(times) {
  let first = 0;
  let most = 0;
  times.forEach((time, last) => {
    while (times[first] <= time - WINDOW_MS) first += 1;
    most = Math.max(most, last - first + 1);
  });
  return most;
}

const WIDTH = 1_000;
const LEFT = 316;
const RIGHT = 16;
const TOP = 74;
const PANEL = 84;
const GAP = 22;
const HEIGHT = TOP + PANELS.length * (PANEL + GAP) + 22;

/** Colours by use: for a light page, and for a dark one. */
const COLORS = {
  ...WORDS,
  line: ["#d1d9e1", "#3d444e"],
  band: ["#eef1f5", "#1b212a"],
  admitted: ["#1a72d0", "#4c9bf0"],
  denied: ["#f0a04b", "#b8661a"],
};
const [TEXT, QUIET, LINE, BAND, ADMITTED, DENIED] = Object.values(COLORS).map(([light]) => light);

const MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
function square(x, y, color) {
  return {
    type: "rect",
    silent: true,
    shape: { x, y, width: 11, height: 11, r: 2 },
    style: { fill: color },
  };
}

/** Behind the bars: when there is traffic. */
function band(x, y, width) {
  return {
    type: "rect",
    silent: true,
    z: -10,
    shape: { x, y, width, height: PANEL },
    style: { fill: BAND },
  };
}

function draw(results) {
  const plotWidth = WIDTH - LEFT - RIGHT;
  const topOf = (i) => TOP + i * (PANEL + GAP);
  const xOf = (second) => LEFT + (second / SECONDS) * plotWidth;
  const chart = {
    grid: PANELS.map((_, i) => ({ left: LEFT, right: RIGHT, top: topOf(i), height: PANEL })),
    xAxis: PANELS.map((_, i) => ({
      gridIndex: i,
      type: "category",
      data: Array.from({ length: SECONDS }, (_unused, second) => second),
      axisTick: { interval: (second) => second % 10 === 0, length: 4, lineStyle: { color: LINE } },
      axisLine: { lineStyle: { color: LINE } },
      axisLabel: { show: false },
      splitLine: {
        show: true,
        interval: (second) => second % 10 === 0,
        lineStyle: { color: LINE, type: [2, 3] },
      },
    })),
    yAxis: PANELS.map((_, i) => ({
      gridIndex: i,
      type: "value",
      max: 20,
      interval: 10,
      axisLabel: { color: QUIET, fontSize: 11 },
      splitLine: { show: false },
      axisLine: { show: false },
      axisTick: { show: false },
    })),
    series: results.flatMap(({ admitted, denied }, i) => [
      bars(i, admitted, ADMITTED),
      bars(i, denied, DENIED),
    ]),
    graphic: [
      text(12, 12, `The same limit, 20 in 10 seconds, and the same ${TRAFFIC.length} requests`, {
        size: 16,
        color: TEXT,
        weight: "bold",
      }),
      square(12, 37, ADMITTED),
      text(28, 38, "admitted in a second"),
      square(168, 37, DENIED),
      text(184, 38, "denied"),
      ...PHASES.map(({ from, to, name }) =>
        text(xOf((from + to) / 2), 38, name, { align: "center" }),
      ),
      ...PANELS.flatMap((_, i) =>
        PHASES.map(({ from, to }) => band(xOf(from), topOf(i), xOf(to) - xOf(from))),
      ),
      ...PANELS.flatMap(({ title: [builder, options], see }, i) => [
        text(12, topOf(i) - 2, builder, { size: 13, color: TEXT, font: MONO, weight: "bold" }),
        text(12, topOf(i) + 16, options, { size: 11.5, font: MONO, color: TEXT }),
        ...see.map((line, n) => text(12, topOf(i) + 35 + n * 15, line)),
        text(
          12,
          topOf(i) + 68,
          `${results[i].total} admitted, at most ${results[i].most} in any 10 s`,
          { color: TEXT, weight: "bold" },
        ),
      ]),
      ...[0, 10, 20, 30, 40, 50, 60, 70, 80].map((second) =>
        text(xOf(second), HEIGHT - 38, second === 80 ? "80 s" : String(second), {
          size: 11,
          align: "center",
        }),
      ),
    ],
  };
  const descriptions = PANELS.map(
    ({ title: [builder, options] }, i) =>
      `${builder} (${options}): ${results[i].total} of ${TRAFFIC.length} admitted, at most ${results[i].most} in any 10 seconds`,
  );
  return drawPicture({
    width: WIDTH,
    height: HEIGHT,
    chart,
    colors: COLORS,
    title: "How each algorithm treats the same traffic",
    description: `${descriptions.join(". ")}.`,
  });
}

function bars(panel, counts, color) {
  return {
    type: "bar",
    stack: `panel ${panel}`,
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: counts.map((count) => count || null),
    barCategoryGap: "18%",
    itemStyle: { color },
    silent: true,
    emphasis: { disabled: true },
  };
}

const results = [];
for (const { limit } of PANELS) results.push(await decideAll(limit));
const picture = draw(results);
const file = join(import.meta.dirname, "../docs/images/algorithms.svg");

if (process.argv.includes("--check")) {
  if (readFileSync(file, "utf8") !== picture) {
    console.error("docs/images/algorithms.svg is stale: run `npx -y pnpm@10.34.9 draw`");
    process.exit(1);
  }
} else {
  writeFileSync(file, picture);
}
