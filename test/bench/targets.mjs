import { titleOf } from "./clients.mjs";
import { formatNumber } from "./print.mjs";
import { median, ratiosOf } from "./statistics.mjs";

const BASE = { suite: "decisions", inFlight: 64, subjects: 1_000, limits: 1, isDenied: false };
/** Each limiter that decides as Headgate does, and can be the best of the others. */
const PEERS = ["rate-limit-redis", "@fastify/rate-limit", "rate-limiter-flexible"];
const FRAMEWORKS = { fastify: "Fastify", express: "Express" };

/** What is to be reached, each with how it is read from the rows; a row that was not measured gives no number. */
const TARGETS = [
  ...[
    ["ioredis", 2],
    ["redis5", 1.3],
    ["redis", 3],
  ].map(([library, factor]) => ({
    claim: `decisions per second, 64 in flight, 1,000 subjects, ${titleOf(library)}, × the best other limiter`,
    least: factor,
    read: (rows) => againstBest(rows, { ...BASE, library }),
  })),
  ...["ioredis", "redis5", "redis"].map((library) => ({
    claim: `three limits, ${titleOf(library)}, × rate-limiter-flexible's union`,
    least: 6,
    read: (rows) => againstBest(rows, { ...BASE, library, limits: 3 }),
  })),
  ...["ioredis", "redis5", "redis"].map((library) => ({
    claim: `one in flight, ${titleOf(library)}, latency as a share of an empty script's and Redis's time for ours`,
    most: 1.1,
    read: (rows) => latencyShare(rows, { ...BASE, library, inFlight: 1 }),
  })),
  {
    claim: "Redis time per decision in full batches, gcra, × an empty script",
    most: 2.6,
    read: (rows) => redisTime(rows, "batches", 1, "EVALSHA, empty script", 0),
  },
  {
    claim: "Redis time of three limits alone, × one limit",
    most: 1.4,
    read: (rows) => redisTime(rows, "alone", 3, "gcra", 1),
  },
  {
    claim: "Redis time of three limits in full batches, × one limit",
    most: 1.9,
    read: (rows) => redisTime(rows, "batches", 3, "gcra", 1),
  },
  ...Object.keys(FRAMEWORKS).flatMap((framework) => [
    httpTarget(framework, "memory", "allowed", 0.95),
    httpTarget(framework, "Redis", "allowed", framework === "fastify" ? 0.75 : 0.95),
    httpTarget(framework, "memory", "denied", 0.9),
    httpTarget(framework, "Redis", "denied", 0.9),
  ]),
  inProcess("deny-cache hit", 500),
  inProcess("lease hit", 500),
  inProcess("memory, gcra", 1_000),
  inProcess("memory, fixedWindow", 1_000),
  {
    claim: "bytes retained by a call in process, at most of all kinds",
    most: 1,
    read: (rows) => {
      const own = rows.filter(
        ({ suite, name }) => suite === "in-process" && /^memory|hit$/.test(name),
      );
      return own.length === 0 ? Number.NaN : Math.max(...own.map(({ retained }) => retained));
    },
  },
  {
    claim: "one global subject with leases, decisions per second from one process",
    least: 1_000_000,
    read: (rows) =>
      median(find(rows, { what: "one subject for all", name: "with leases" }).perSecond),
  },
  {
    claim: "slidingLog at limit 100,000, × limit 100",
    most: 2,
    read: (rows) => {
      const at = (limit) => find(rows, { what: "limit of slidingLog", at: limit });
      return ratio(at(100_000).redisMicroseconds, at(100).redisMicroseconds);
    },
  },
];

function httpTarget(framework, store, outcome, share) {
  return {
    claim: `HTTP, ${FRAMEWORKS[framework]}, ${store}, ${outcome}, requests per second as a share of the constants`,
    least: share,
    read: (rows) => {
      const perSecond = (name) => find(rows, { suite: "http", framework, name, outcome }).perSecond;
      return ratio(perSecond(`Headgate, ${store}`), perSecond("constants"));
    },
  };
}

function inProcess(name, nanoseconds) {
  return {
    claim: `${name}, ns`,
    most: nanoseconds,
    read: (rows) => median(find(rows, { suite: "in-process", name }).nanoseconds),
  };
}

/** The row with these members; one without numbers where nothing of the kind was measured. */
function find(rows, wanted) {
  const isWanted = (row) => Object.entries(wanted).every(([name, value]) => row[name] === value);
  return rows.find(isWanted) ?? { perSecond: [], nanoseconds: [], redisMicroseconds: [] };
}

function ratio(numbers, others) {
  return median(ratiosOf(numbers, others));
}

function againstBest(rows, setting) {
  const own = find(rows, { ...setting, name: "Headgate" });
  const ratios = PEERS.map((name) => find(rows, { ...setting, name }))
    .filter(({ perSecond }) => perSecond.length > 0)
    .map(({ perSecond }) => ratio(own.perSecond, perSecond));
  return ratios.length === 0 ? Number.NaN : Math.min(...ratios);
}

function latencyShare(rows, setting) {
  const own = find(rows, { ...setting, name: "Headgate" });
  const empty = find(rows, { ...setting, name: "EVALSHA, empty script" });
  const expected = (empty.latencyMicroseconds ?? []).map(
    (latency, round) => latency + own.redisMicroseconds[round],
  );
  return ratio(own.latencyMicroseconds ?? [], expected);
}

function redisTime(rows, mode, limits, name, nameLimits) {
  const time = (wanted) => find(rows, { suite: "redis", mode, ...wanted }).microseconds ?? [];
  return ratio(time({ name: "gcra", limits }), time({ name, limits: nameLimits }));
}

/** Each target with what the rows say; `measured` is NaN where they say nothing. */
export function judge(rows) {
  return TARGETS.map(({ claim, least, most, read }) => {
    const measured = read(rows);
    return {
      claim,
      target: least === undefined ? `≤ ${formatNumber(most)}` : `≥ ${formatNumber(least)}`,
      measured,
      isReached: least === undefined ? measured <= most : measured >= least,
    };
  });
}
