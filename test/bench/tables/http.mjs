import { FRAMEWORKS } from "../http/frameworks.mjs";
import { formatNumber } from "../print.mjs";
import { median, ratioOf, ratiosOf, spreadOf } from "../statistics.mjs";

const SHARES = [
  "application",
  "requests/s",
  "of constants",
  "half of the rounds",
  "of bare",
  "Node µs",
  "Redis µs",
];
const TIMES = ["application", "p50 added, ms", "p99 added, ms"];

/** For each framework and outcome, a table of requests and one of times. */
export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "http");
  const groups = [...new Set(own.map(groupOf))];
  return groups.flatMap((group) => {
    const ofGroup = own
      .filter((row) => groupOf(row) === group)
      .toSorted((a, b) => rankOf(a) - rankOf(b));
    return [
      {
        title: `HTTP: ${group}, requests`,
        head: SHARES,
        rows: ofGroup.map((row) => sharesOf(own, row)),
      },
      {
        title: `HTTP: ${group}, times`,
        head: TIMES,
        rows: ofGroup.map((row) => timesOf(own, row)),
      },
    ];
  });
}

/** The baselines come first. */
function rankOf({ name }) {
  const rank = ["bare", "constants"].indexOf(name);
  return rank < 0 ? 2 : rank;
}

function groupOf({ framework, outcome }) {
  return `${FRAMEWORKS[framework].title}, ${outcome}`;
}

function sharesOf(rows, row) {
  const constants = siblingRow(rows, row, "constants", row.outcome);
  const bare = siblingRow(rows, row, "bare", "allowed");
  const range = spreadOf(ratiosOf(row.perSecond, constants.perSecond));
  return [
    row.name,
    formatNumber(median(row.perSecond)),
    ratioOf(row.perSecond, constants.perSecond).toFixed(2),
    `${range.low.toFixed(2)}–${range.high.toFixed(2)}`,
    ratioOf(row.perSecond, bare.perSecond).toFixed(2),
    formatNumber(median(row.serverMicroseconds)),
    row.name.endsWith("Redis") ? formatNumber(median(row.redisMicroseconds ?? [])) : "–",
  ];
}

function timesOf(rows, row) {
  const constants = siblingRow(rows, row, "constants", row.outcome);
  const added = (percentile) =>
    (median(row[percentile]) - median(constants[percentile])).toFixed(2);
  return [row.name, added("p50"), added("p99")];
}

/** The row of another application of the same framework. */
function siblingRow(rows, { framework }, name, outcome) {
  return rows.find(
    (one) => one.framework === framework && one.name === name && one.outcome === outcome,
  );
}
