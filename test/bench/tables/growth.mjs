import { formatNumber } from "../print.mjs";
import { median } from "../statistics.mjs";

const formatMedian = (numbers) => formatNumber(median(numbers));

/** The columns that some growth has; the first is called by what grows. */
const COLUMNS = {
  at: (what) => [what, formatNumber],
  client: () => ["client", String],
  name: () => ["limiter", String],
  inFlight: () => ["in flight", formatNumber],
  perSecond: () => ["decisions/s", formatMedian],
  redisMicroseconds: () => ["Redis µs", formatMedian],
  nodeMicroseconds: () => ["Node µs", formatMedian],
  redisCpuMicroseconds: () => ["Redis CPU µs", formatMedian],
  decisionsPerCall: () => ["decisions a call", formatMedian],
  bytes: () => ["bytes", formatNumber],
  scripts: () => ["scripts on the server", formatNumber],
};

/** A table for each thing that grows. */
export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "growth");
  return [...new Set(own.map(({ what }) => what))].map((what) => {
    const ofGrowth = own.filter((row) => row.what === what);
    const names = Object.keys(COLUMNS).filter((name) => ofGrowth.some((row) => name in row));
    const columns = names.map((name) => COLUMNS[name](what));
    return {
      title: `Growth: ${what}`,
      head: columns.map(([title]) => title),
      rows: ofGrowth.map((row) => names.map((name, i) => columns[i][1](row[name]))),
    };
  });
}
