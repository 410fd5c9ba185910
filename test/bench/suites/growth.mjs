import { growCluster } from "../growth/cluster.mjs";
import { growHotSubject } from "../growth/hot-subject.mjs";
import { growKeys } from "../growth/keys.mjs";
import { growLogLimits } from "../growth/log-limits.mjs";
import { growProcesses } from "../growth/processes.mjs";
import { formatNumber, printTable } from "../print.mjs";
import { median } from "../statistics.mjs";

const GROWTHS = {
  keys: growKeys,
  "limit of slidingLog": growLogLimits,
  processes: growProcesses,
  servers: growCluster,
  "one subject for all": growHotSubject,
};

/** What stays as it is while something grows, and what does not. */
export async function run({ rounds, isQuick, log }) {
  const rows = [];
  for (const [what, grow] of Object.entries(GROWTHS)) {
    log(what);
    rows.push(...(await grow({ rounds, isQuick })));
  }
  return rows;
}

/** The columns that some row of a growth has. */
const COLUMNS = {
  at: ["", (count) => count.toLocaleString("en-US")],
  name: ["limiter", String],
  inFlight: ["in flight", (count) => count.toLocaleString("en-US")],
  perSecond: ["decisions/s", formatMedian],
  redisMicroseconds: ["Redis µs", formatMedian],
  nodeMicroseconds: ["Node µs", formatMedian],
  decisionsPerCall: ["decisions a call", formatMedian],
  bytes: ["bytes", formatNumber],
};

function formatMedian(numbers) {
  return formatNumber(median(numbers));
}

/** The table of one growth: its head, and its rows. */
export function tabulate(rows, what) {
  const own = rows.filter((row) => row.suite === "growth" && row.what === what);
  const columns = Object.keys(COLUMNS).filter((column) => own.some((row) => column in row));
  return {
    head: columns.map((column) => COLUMNS[column][0] || what),
    rows: own.map((row) => columns.map((column) => COLUMNS[column][1](row[column]))),
  };
}

export function print(rows) {
  for (const what of Object.keys(GROWTHS)) {
    const table = tabulate(rows, what);
    printTable(`Growth: ${what}`, table.head, table.rows);
  }
}
