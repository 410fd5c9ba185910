// Draws docs/images/outage.svg from docs/images/outage.json: a real run of processes that share a breaker in an outage.
// With --run, makes a new run first, which takes a minute and a Redis: REDIS_URL says where it is. With --check, fails when
// the committed picture is not what the committed run looks like, instead of writing it.
//
//   npx -y pnpm@10.34.9 build
//   REDIS_URL=redis://127.0.0.1:6379 node scripts/draw-outage.mjs --run
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runOutage } from "./outage/run.mjs";
import { BIN, SETTINGS } from "./outage/settings.mjs";
import { drawPicture, text, WORDS } from "./picture.mjs";

const images = join(import.meta.dirname, "../docs/images");
const dataFile = join(images, "outage.json");
const pictureFile = join(images, "outage.svg");

const WIDTH = 1_000;
const LEFT = 76;
const RIGHT = 20;
const RATE = { top: 84, height: 170 };
const CALLS = { top: 304, height: 110 };
const ROWS = { top: 464, height: 12, pitch: 18 };
const HEIGHT = ROWS.top + SETTINGS.processes * ROWS.pitch + 42;
const CALLS_PER_SECOND = SETTINGS.processes * SETTINGS.callsPerSecond;

/** Colours by use: for a light page, and for a dark one. */
const COLORS = {
  ...WORDS,
  line: ["#d1d9e1", "#3d444e"],
  band: ["#eef1f5", "#1b212a"],
  answered: ["#1a72d0", "#4c9bf0"],
  failed: ["#b42318", "#f2695c"],
  refused: ["#f0a04b", "#b8661a"],
  trial: ["#7a3fc0", "#b58cf0"],
  closed: ["#cfe2f8", "#17385f"],
};
const [TEXT, QUIET, LINE, BAND, ANSWERED, FAILED, REFUSED, TRIAL, CLOSED] = Object.values(
  COLORS,
).map(([light]) => light);
const STATE_COLORS = { closed: CLOSED, open: REFUSED, "half-open": TRIAL };

/** Where a second of the run is drawn. */
const xOf = (second) => LEFT + (second / SETTINGS.lasts) * (WIDTH - LEFT - RIGHT);

function box(x, y, width, height, fill, z = 0) {
  return { type: "rect", silent: true, z, shape: { x, y, width, height }, style: { fill } };
}

function legend(x, y, color, words) {
  return [box(x, y, 11, 11, color), text(x + 17, y + 1, words)];
}

function upright(second, { top, height }, color) {
  const x = Math.round(xOf(second));
  return {
    type: "line",
    silent: true,
    z: 5,
    shape: { x1: x, y1: top, x2: x, y2: top + height },
    style: { stroke: color, lineDash: [3, 3] },
  };
}

/** A process's states, one after another: the first is closed. */
function stretches(changes) {
  const starts = [{ at: 0, to: "closed" }, ...changes];
  return starts.map(({ at, to }, i) => ({
    from: at,
    until: starts[i + 1]?.at ?? SETTINGS.lasts,
    state: to,
  }));
}

/** The fleet's changes of state: the first process that changed, and the delay until the last one followed. */
function changesOfFleet({ processes }) {
  return processes[0].changes.map((change, i) => {
    const times = processes.map(({ changes }) => changes[i].at);
    return { ...change, at: Math.min(...times), late: Math.max(...times) - Math.min(...times) };
  });
}

function sumOf(processes, outcome) {
  return processes[0][outcome].map((_, bin) =>
    processes.reduce((sum, process) => sum + process[outcome][bin], 0),
  );
}

function percent(rate) {
  return `${(rate * 100).toFixed(1)} %`;
}

function draw(run) {
  const { samples, processes } = run;
  const changes = changesOfFleet(run);
  const opened = changes.find(({ to }) => to === "open");
  const trials = changes.filter(({ from }) => from === "half-open");
  const points = (wanted) =>
    samples.map(({ at, state, successRate }) => [
      at,
      successRate !== null && (state === "closed") === wanted ? successRate * 100 : null,
    ]);
  const seconds = { type: "value", min: 0, max: SETTINGS.lasts, interval: 5 };
  const chart = {
    grid: [RATE, CALLS].map(({ top, height }) => ({ left: LEFT, right: RIGHT, top, height })),
    xAxis: [
      seconds,
      { type: "category", data: sumOf(processes, "answered").map((_, bin) => bin) },
    ].map((axis, gridIndex) => ({
      ...axis,
      gridIndex,
      axisTick: { show: false },
      axisLine: { onZero: false, lineStyle: { color: LINE } },
      axisLabel: { show: false },
      splitLine: { show: false },
    })),
    yAxis: [
      { max: 100, interval: 50, axisLabel: { color: QUIET, fontSize: 11, formatter: "{value} %" } },
      { max: CALLS_PER_SECOND, interval: 40, axisLabel: { color: QUIET, fontSize: 11 } },
    ].map((axis, gridIndex) => ({
      ...axis,
      gridIndex,
      type: "value",
      min: 0,
      splitLine: { lineStyle: { color: LINE, type: [2, 3] } },
    })),
    series: [
      line(points(true), ANSWERED),
      line(points(false), REFUSED),
      bars(sumOf(processes, "answered"), ANSWERED),
      bars(sumOf(processes, "failed"), FAILED),
      bars(sumOf(processes, "refused"), REFUSED),
    ],
    graphic: [
      text(12, 12, "An outage of 20 seconds, four processes, one breaker in Redis", {
        size: 16,
        color: TEXT,
        weight: "bold",
      }),
      text(
        12,
        35,
        `A real run with short times: a window of 10 s (default 5 min), open for 4 s (30 s), a ramp of 5 s, ${CALLS_PER_SECOND} calls a second. ${run.madeWith}`,
      ),
      text(12, RATE.top - 22, "Success rate in the window", { color: TEXT, weight: "bold" }),
      ...legend(230, RATE.top - 23, ANSWERED, "closed"),
      ...legend(306, RATE.top - 23, REFUSED, "open: the window goes on to slide, nothing is added"),
      ...[RATE, CALLS, { top: ROWS.top, height: SETTINGS.processes * ROWS.pitch }].map(
        ({ top, height }) =>
          box(
            xOf(SETTINGS.failsFrom),
            top,
            xOf(SETTINGS.failsUntil) - xOf(SETTINGS.failsFrom),
            height,
            BAND,
            -10,
          ),
      ),
      text(xOf(SETTINGS.failsFrom) + 8, RATE.top + 124, "the upstream\nfails"),
      upright(opened.at, RATE, TEXT),
      text(
        xOf(opened.at) + 8,
        RATE.top + 62,
        `opens at ${percent(opened.successRate)} of ${opened.calls} calls`,
        { color: TEXT, weight: "bold" },
      ),
      ...trials.map(({ at }) =>
        upright(at, { top: RATE.top + RATE.height / 2, height: RATE.height / 2 }, TRIAL),
      ),
      ...trials.map(({ at, to, calls, failures }) =>
        text(
          xOf(at) + 6,
          RATE.top + 104,
          to === "open"
            ? `${failures} of ${calls} trial\ncalls fail`
            : `${calls} trial calls\nsucceed: closed`,
          { color: TRIAL },
        ),
      ),
      text(12, CALLS.top - 22, "Calls in a second", { color: TEXT, weight: "bold" }),
      ...legend(230, CALLS.top - 23, ANSWERED, "answered by the upstream"),
      ...legend(420, CALLS.top - 23, FAILED, "failed"),
      ...legend(490, CALLS.top - 23, REFUSED, "not let through: the fallback answers at once"),
      text(12, ROWS.top - 22, "The state in each process", { color: TEXT, weight: "bold" }),
      ...legend(230, ROWS.top - 23, CLOSED, "closed"),
      ...legend(306, ROWS.top - 23, REFUSED, "open"),
      ...legend(372, ROWS.top - 23, TRIAL, "half-open"),
      text(
        470,
        ROWS.top - 22,
        `the last one knows ${Math.round(Math.max(...changes.map(({ late }) => late)) * 1_000)} ms after the first, at most`,
      ),
      ...processes.flatMap(({ changes: own }, row) =>
        stretches(own).map(({ from, until, state }) =>
          box(
            xOf(from),
            ROWS.top + row * ROWS.pitch,
            // A very short state must stay visible.
            Math.max(xOf(until) - xOf(from), 3),
            ROWS.height,
            STATE_COLORS[state],
            state === "half-open" ? 2 : 1,
          ),
        ),
      ),
      ...processes.map((_, row) =>
        text(LEFT - 8, ROWS.top + row * ROWS.pitch, String(row + 1), { size: 11, align: "right" }),
      ),
      ...[0, 10, 20, 30, 40].map((second) =>
        text(
          xOf(second),
          ROWS.top + SETTINGS.processes * ROWS.pitch + 8,
          second === 40 ? "40 s" : String(second),
          { size: 11, align: "center" },
        ),
      ),
    ],
  };
  const descriptions = changes.map(
    ({ at, to, calls, failures }) =>
      `${at.toFixed(1)} s ${to}, caused by ${calls} calls with ${failures} failures`,
  );
  return drawPicture({
    width: WIDTH,
    height: HEIGHT,
    chart,
    colors: COLORS,
    title: "The success rate of an upstream over an outage",
    description: `Four processes share a breaker; the upstream fails from 10 s to 30 s. ${descriptions.join(". ")}.`,
  });
}

function line(data, color) {
  return {
    type: "line",
    data,
    step: "end",
    showSymbol: false,
    silent: true,
    lineStyle: { color, width: 2 },
    itemStyle: { color },
  };
}

function bars(counts, color) {
  return {
    type: "bar",
    stack: "calls",
    xAxisIndex: 1,
    yAxisIndex: 1,
    data: counts.map((count) => count / BIN || null),
    barCategoryGap: "18%",
    itemStyle: { color },
    silent: true,
    emphasis: { disabled: true },
  };
}

if (process.argv.includes("--run")) {
  const url = process.env["REDIS_URL"];
  if (url === undefined) throw new Error("REDIS_URL must say where Redis is");
  writeFileSync(dataFile, `${JSON.stringify(await runOutage(url))}\n`);
}
const run = JSON.parse(readFileSync(dataFile, "utf8"));
const picture = draw(run);

if (!process.argv.includes("--check")) {
  writeFileSync(pictureFile, picture);
} else if (readFileSync(pictureFile, "utf8") !== picture) {
  console.error("docs/images/outage.svg is stale: run `node scripts/draw-outage.mjs`");
  process.exit(1);
}
