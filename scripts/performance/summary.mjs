import { FRAMEWORKS } from "../../test/bench/http/frameworks.mjs";
import { netOf } from "../../test/bench/in-process/net.mjs";
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

/**
 * The most important figures as tables: decisions per process, requests over HTTP, the cost of a decision, and of a key and a process.
 */
export function summaryOf(rows) {
  return [decisions(rows), http(rows), costs(rows), others(rows)];
}

/** Three figures for somebody who compares limiters: under load, without it, and for a whole request. */
export function figuresOf(rows) {
  const perSecond = (what, names) =>
    names.map((name) =>
      median(find(rows, { suite: "decisions", library: "ioredis", name, ...what }).perSecond),
    );
  const compared = (what) => {
    const [ours] = perSecond(what, ["Headgate"]);
    const peers = perSecond(what, LIMITERS.slice(1));
    const range = [Math.min(...peers), Math.max(...peers)].map(formatNumber).join(" to ");
    return [formatNumber(ours), `${range}, in ${peers.length} others`];
  };
  const express = http(rows).rows.filter(([framework]) => framework === "Express");
  const [ours, peer] = express.map((row) => row.at(-1));
  return {
    title: "One process on one Redis",
    head: ["figure", "Headgate", "others"],
    rows: [
      ["decisions a second, 64 in flight", ...compared(BUSY)],
      ["decisions a second, one at a time", ...compared(CASES["1 in flight"])],
      ["CPU µs of a request to Express, with Redis", ours, `${peer}, express-rate-limit`],
    ],
  };
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

/** Of each framework's application with each limiter: its share of the requests, and the processor time of one. */
function http(rows) {
  const of = (framework, name) =>
    find(rows, { suite: "http", framework, outcome: "allowed", name });
  const cellsOf = (framework, name) => {
    const [row, constants] = [of(framework, name), of(framework, "constants")];
    if (row === undefined) return ["–", "–"];
    const { serverMicroseconds, redisMicroseconds } = row;
    const cpu = median(serverMicroseconds) + median(redisMicroseconds);
    return [
      `${(ratioOf(row.perSecond, constants.perSecond) * 100).toFixed(0)} %`,
      formatNumber(cpu),
    ];
  };
  return {
    title:
      "Requests per second as a share of the same application that sends constants, and CPU µs of Node and Redis for a request",
    head: ["framework", "limiter", "in memory", "CPU µs", "on Redis", "CPU µs"],
    rows: Object.entries(FRAMEWORKS).flatMap(([framework, { title, peer }]) => [
      ...["Headgate", peer].map((limiter) => [
        title,
        limiter,
        ...cellsOf(framework, `${limiter}, memory`),
        ...cellsOf(framework, `${limiter}, Redis`),
      ]),
      [title, "none", "–", microsecondsOf(of(framework, "bare")), "–", "–"],
    ]),
  };
}

function microsecondsOf(row) {
  return row === undefined ? "–" : formatNumber(median(row.serverMicroseconds));
}

function costs(rows) {
  const onRedis = (what) => {
    const row = find(rows, { suite: "decisions", library: "ioredis", name: "Headgate", ...what });
    return [row.nodeMicroseconds, row.redisCpuMicroseconds].map((numbers) =>
      formatNumber(median(numbers)),
    );
  };
  const inProcess = (name) => [
    formatNumber(median(netOf(rows, name, "cpuNanoseconds")) / 1_000),
    "–",
  ];
  return {
    title: "CPU µs for a decision",
    head: ["decision", "Node", "Redis"],
    rows: [
      ["on Redis, 64 in flight", ...onRedis(BUSY)],
      ["on Redis, 1 in flight", ...onRedis({ ...BUSY, inFlight: 1 })],
      ["in memory, gcra, 1,000 keys", ...inProcess("memory, gcra")],
      ["in memory, gcra, 100,000 keys", ...inProcess("memory, gcra, 100,000 keys")],
      ["a denial that is remembered", ...inProcess("deny-cache hit")],
      ["a lease", ...inProcess("lease hit")],
    ],
  };
}

/** Each with the limiters that were measured beside Headgate. */
function others(rows) {
  const cells = (what, column, [ours, ...peers]) => {
    const textOf = (name) => {
      const value = find(rows, { ...what, name })?.[column];
      return value === undefined ? undefined : formatNumber(median([value].flat()));
    };
    const measured = peers
      .map((name) => [name.replace(", memory", ""), textOf(name)])
      .filter(([, value]) => value !== undefined);
    return [textOf(ours) ?? "–", measured.map((pair) => pair.join(" ")).join(", ") || "–"];
  };
  const cluster = { what: "servers", at: 3, client: "ioredis" };
  const commands = { what: "commands" };
  const started = ["Headgate", "rate-limit-redis", "rate-limiter-flexible"];
  const inMemory = ["express-rate-limit", "hono-rate-limiter", "rate-limiter-flexible"];
  return {
    title: "Other figures",
    head: ["figure", "Headgate", "others"],
    rows: [
      [
        "decisions per second, a cluster of 3, 64 in flight",
        ...cells(cluster, "perSecond", ["Headgate", "rate-limiter-flexible", "INCR"]),
      ],
      [
        "ms to the first decision of a new process",
        ...cells({ what: "first decision" }, "milliseconds", started),
      ],
      [
        "commands a second, with one decision a second",
        ...cells({ ...commands, isBusy: true }, "commandsPerSecond", started),
      ],
      [
        "commands a second, without decisions",
        ...cells({ ...commands, isBusy: false }, "commandsPerSecond", started),
      ],
      [
        "bytes of a key in memory",
        ...cells({ suite: "in-process" }, "bytesPerKey", [
          "memory, gcra",
          ...inMemory.map((name) => `${name}, memory`),
        ]),
      ],
      ["bytes of a key in Redis", ...bytesInRedis(rows)],
    ],
  };
}

function bytesInRedis(rows) {
  const bytesOf = (name) => find(rows, { suite: "redis", mode: "alone", limits: 1, name }).bytes[0];
  const peers = LIMITERS.slice(1).map((name) => `${name} ${bytesOf(name)}`);
  return [formatNumber(bytesOf("gcra")), peers.join(", ")];
}

function find(rows, what) {
  return rows.find((row) => Object.entries(what).every(([key, value]) => row[key] === value));
}
