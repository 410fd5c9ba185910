import { formatNumber, formatSpread } from "../print.mjs";
import { ratioOf } from "../statistics.mjs";
import { CONTENDERS } from "./measure.mjs";
import { USEFUL_MS } from "./workloads.mjs";

const GOODPUT = `answered within ${USEFUL_MS} ms`;

/** The tables of a run, as `{ title, head, rows }` with text in the cells. */
export function tablesOf({ rows, calm }) {
  const kinds = [
    ...new Set(rows.map(({ workload, connections }) => `${workload}, ${connections}`)),
  ];
  return [
    ...kinds.map((kind) => {
      const own = rows.filter((row) => `${row.workload}, ${row.connections}` === kind);
      return {
        title: `${kind}, ${formatNumber(own[0].capacity)} requests/s`,
        head: [
          "load",
          "contender",
          `${GOODPUT}, of capacity`,
          "shed",
          "late",
          "p50, ms",
          "p99, ms",
        ],
        rows: own.filter(({ load }) => load !== "spike").map(rowOf),
      };
    }),
    {
      title: "After a second at 5 ×, until 95 % are useful again",
      head: ["contender", "connections", "ms"],
      rows: rows
        .filter(({ load }) => load === "spike")
        .map(({ contender, connections, recoveredMs }) => [
          contender,
          connections,
          recoveredMs === null ? "over 2,250" : formatNumber(recoveredMs),
        ]),
    },
    {
      title: "A request of a calm server",
      head: ["contender", "µs"],
      rows: Object.entries(calm)
        .filter(([name]) => name !== "none")
        .map(([name, micros]) => [name, formatSpread(micros.map((one, i) => one - calm.none[i]))]),
    },
  ];
}

function rowOf({ load, contender, capacity, usefulPerSecond, shedShare, lateShare, ...times }) {
  return [
    `${load} ×`,
    contender,
    percent(ratioOf([usefulPerSecond], [capacity])),
    percent(shedShare),
    percent(lateShare),
    formatTime(times.p50Ms),
    formatTime(times.p99Ms),
  ];
}

export function percent(share) {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function formatTime(ms) {
  return ms === null ? "–" : formatNumber(ms);
}

/** The rows of the picture: one for each contender, in the order of the loads. */
export function pictureOf({ rows }, connections) {
  return CONTENDERS.map((contender) => ({
    contender,
    points: rows.filter(
      (row) =>
        row.workload === "5 ms" &&
        row.connections === connections &&
        row.contender === contender &&
        row.load !== "spike",
    ),
  }));
}
