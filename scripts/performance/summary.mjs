import { formatNumber } from "../../test/bench/print.mjs";
import { median, ratioOf } from "../../test/bench/statistics.mjs";

const LIMITERS = ["Headgate", "rate-limit-redis", "@fastify/rate-limit", "rate-limiter-flexible"];
const BUSY = { inFlight: 64, subjects: 1_000, limits: 1, isDenied: false };
const CASES = {
  "64 in flight": BUSY,
  "1 in flight": { ...BUSY, inFlight: 1 },
  "64 in flight, 3 limits": { ...BUSY, limits: 3 },
  "64 in flight, denied": { ...BUSY, isDenied: true },
};

/** The most important figures as tables: decisions per process, the loss over HTTP, the cost of a decision. */
export function summaryOf(rows) {
  return [decisions(rows), http(rows), costs(rows)];
}

function decisions(rows) {
  const cellOf = (what, name) => {
    const row = find(rows, { suite: "decisions", library: "ioredis", name, ...what });
    return row === undefined ? "–" : formatNumber(median(row.perSecond));
  };
  return {
    title: "Decisions per second, one process on one Redis, ioredis",
    head: ["questions", ...LIMITERS],
    rows: Object.entries(CASES).map(([title, what]) => [
      title,
      ...LIMITERS.map((name) => cellOf(what, name)),
    ]),
  };
}

function http(rows) {
  const shareOf = (framework, name) => {
    const of = (one) =>
      find(rows, { suite: "http", framework, outcome: "allowed", name: one }).perSecond;
    return `${(ratioOf(of(name), of("constants")) * 100).toFixed(0)} %`;
  };
  const rowOf = (title, framework, limiter) => [
    title,
    shareOf(framework, `${limiter}, memory`),
    shareOf(framework, `${limiter}, Redis`),
  ];
  return {
    title: "Requests per second, as a share of the same application that sends constants",
    head: ["limiter", "in memory", "on Redis"],
    rows: [
      rowOf("Headgate, Fastify", "fastify", "Headgate"),
      rowOf("@fastify/rate-limit", "fastify", "@fastify/rate-limit"),
      rowOf("Headgate, Express", "express", "Headgate"),
      rowOf("express-rate-limit", "express", "express-rate-limit"),
    ],
  };
}

function costs(rows) {
  const busy = find(rows, { suite: "decisions", library: "ioredis", name: "Headgate", ...BUSY });
  const inProcess = (name) => median(find(rows, { suite: "in-process", name }).nanoseconds) / 1_000;
  return {
    title: "µs for a decision",
    head: ["decision", "Node", "Redis"],
    rows: [
      [
        "on Redis, 64 in flight",
        formatNumber(median(busy.nodeMicroseconds)),
        formatNumber(median(busy.redisMicroseconds)),
      ],
      ["in memory, gcra", formatNumber(inProcess("memory, gcra")), "–"],
      ["a denial that is remembered", formatNumber(inProcess("deny-cache hit")), "–"],
      ["a lease", formatNumber(inProcess("lease hit")), "–"],
    ],
  };
}

function find(rows, what) {
  return rows.find((row) => Object.entries(what).every(([key, value]) => row[key] === value));
}
