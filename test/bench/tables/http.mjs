import { formatNumber } from "../print.mjs";
import { median, ratiosOf, spreadOf } from "../statistics.mjs";

/** A table for each framework and outcome. */
export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "http");
  const groups = [...new Set(own.map(groupOf))];
  return groups.map((group) => ({
    title: `HTTP: ${group}`,
    head: [
      "application",
      "requests/s",
      "of constants",
      "half of the rounds",
      "of bare",
      "server µs",
      "p50 added, ms",
      "p99 added, ms",
    ],
    rows: own
      .filter((row) => groupOf(row) === group)
      .toSorted((a, b) => rankOf(a) - rankOf(b))
      .map((row) => cellsOf(own, row)),
  }));
}

/** What is compared with comes first. */
function rankOf({ name }) {
  const rank = ["bare", "constants"].indexOf(name);
  return rank < 0 ? 2 : rank;
}

function groupOf({ framework, outcome }) {
  return `${framework === "fastify" ? "Fastify" : "Express"}, ${outcome}`;
}

function cellsOf(rows, row) {
  const beside = (name, outcome) =>
    rows.find(
      (one) => one.framework === row.framework && one.name === name && one.outcome === outcome,
    );
  const constants = beside("constants", row.outcome);
  const bare = beside("bare", "allowed");
  const share = spreadOf(ratiosOf(row.perSecond, constants.perSecond));
  const added = (percentile) =>
    (median(row[percentile]) - median(constants[percentile])).toFixed(2);
  return [
    row.name,
    formatNumber(median(row.perSecond)),
    share.median.toFixed(2),
    `${share.low.toFixed(2)}–${share.high.toFixed(2)}`,
    median(ratiosOf(row.perSecond, bare.perSecond)).toFixed(2),
    formatNumber(median(row.serverMicroseconds)),
    added("p50"),
    added("p99"),
  ];
}
