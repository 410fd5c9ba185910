import { CLUSTER_LIBRARIES, titleOf } from "./clients.mjs";
import { FRAMEWORKS } from "./http/frameworks.mjs";
import { netOf } from "./in-process/net.mjs";
import { formatNumber } from "./print.mjs";
import { median, ratioOf } from "./statistics.mjs";

const BASE = { suite: "decisions", inFlight: 64, subjects: 1_000, limits: 1, isDenied: false };
/** Each limiter that decides as Headgate does, and can be the best of the others. */
const PEERS = ["rate-limit-redis", "@fastify/rate-limit", "rate-limiter-flexible"];
/** Instructions of a single decision: as text, and in a row. */
const MEMBERS = {
  returns: ["a client that returns", "instructions"],
  first: ["a first visit", "instructionsFirst"],
  denied: ["a denial", "instructionsDenied"],
};

/** The targets, each with a function that reads it from the rows; a row that was not measured gives NaN. */
const TARGETS = [
  ...[
    ["ioredis", 2],
    ["redis", 3],
  ].map(([library, factor]) => ({
    claim: `decisions/s, 64 in flight, ${titleOf(library)}, × the best other limiter`,
    least: factor,
    read: (rows) => againstBest(rows, { ...BASE, library }),
  })),
  ...["ioredis", "redis5", "redis"].map((library) => ({
    claim: `three limits, ${titleOf(library)}, × rate-limiter-flexible's union`,
    least: 6,
    read: (rows) => againstBest(rows, { ...BASE, library, limits: 3 }),
  })),
  processorTarget({ ...BASE, library: "redis5" }, 1),
  ...["ioredis", "redis5", "redis"].map((library) =>
    processorTarget({ ...BASE, inFlight: 1, library }, 1.2),
  ),
  ...CLUSTER_LIBRARIES.map((library) => ({
    claim: `decisions/s, 3 servers, 64 in flight, ${titleOf(library)}, × INCR`,
    least: 1,
    read: (rows) => {
      const perSecond = (name) =>
        find(rows, { what: "servers", at: 3, client: titleOf(library), name }).perSecond;
      return ratioOf(perSecond("Headgate"), perSecond("INCR"));
    },
  })),
  {
    claim: "50 shapes, 64 in flight, CPU µs for a decision",
    most: 14,
    read: (rows) => processorTime(find(rows, { what: "shapes", at: 50 })),
  },
  {
    claim: "Redis time, one decision a call, gcra, × rate-limit-redis",
    most: 1.4,
    read: (rows) => {
      const time = (name) =>
        find(rows, { suite: "redis", mode: "alone", limits: 1, name }).microseconds;
      return ratioOf(time("gcra"), time("rate-limit-redis"));
    },
  },
  ...instructionsAlone("gcra", 1, { returns: 37_000, first: 52_000, denied: 41_000 }),
  ...instructionsAlone("gcra", 3, { returns: 48_000, first: 57_000, denied: 47_000 }),
  ...instructionsAlone("slidingWindow", 1, { returns: 56_000 }),
  instructions("batches", "gcra", 1, "instructions", 20_000),
  instructions("batches", "gcra", 3, "instructions", 32_000),
  {
    claim: "bytes of a key in Redis, gcra",
    most: 100,
    read: (rows) =>
      find(rows, { suite: "redis", mode: "alone", name: "gcra", limits: 1 }).bytes?.[0] ??
      Number.NaN,
  },
  httpTarget("fastify", "memory", "allowed", 1),
  httpTarget("fastify", "Redis", "allowed", 1.3),
  httpTarget("fastify", "Redis", "denied", 1.8),
  httpTarget("express", "memory", "allowed", 1),
  httpTarget("express", "Redis", "allowed", 1.1),
  ...["allowed", "denied"].map((outcome) => ({
    claim: `HTTP, Hono, memory, ${outcome}, CPU of a request, × hono-rate-limiter`,
    most: 1.1,
    read: (rows) => {
      const time = (name) =>
        find(rows, { suite: "http", framework: "hono", name, outcome }).serverMicroseconds;
      return ratioOf(time("Headgate, memory"), time("hono-rate-limiter, memory"));
    },
  })),
  httpTarget("nestjs", "memory", "allowed", 1),
  inProcess("deny-cache hit", 500),
  inProcess("lease hit", 500),
  inProcess("memory, gcra", 350),
  inProcess("memory, gcra, 100,000 keys", 1_200),
  inProcess("memory, fixedWindow", 600),
  {
    claim: "bytes of a key in memory, gcra",
    most: 250,
    read: (rows) =>
      find(rows, { suite: "in-process", name: "memory, gcra" }).bytesPerKey ?? Number.NaN,
  },
  {
    claim: "bytes retained by a call in process, at most of all kinds",
    most: 1,
    read: (rows) => {
      const own = rows.filter(
        ({ suite, name }) => suite === "in-process" && /^memory.*(?<!keys)$|hit$/.test(name),
      );
      return own.length === 0 ? Number.NaN : Math.max(...own.map(({ retained }) => retained));
    },
  },
  {
    claim: "decisions/s of one global subject with leases",
    least: 1_000_000,
    read: (rows) =>
      median(find(rows, { what: "one subject for all", name: "with leases" }).perSecond),
  },
  {
    claim: "slidingLog at limit 100,000, × limit 100",
    most: 2,
    read: (rows) => {
      const at = (limit) => find(rows, { what: "limit of slidingLog", at: limit });
      return ratioOf(at(100_000).redisMicroseconds, at(100).redisMicroseconds);
    },
  },
  {
    claim: "first decision of a new process on Redis, ms",
    most: 10,
    read: (rows) =>
      median(find(rows, { what: "first decision", name: "Headgate" }).milliseconds ?? []),
  },
  commandsTarget("with one decision a second", true, 3),
  commandsTarget("without decisions", false, 0.3),
];

/** How much processor time a decision may take, of Node and Redis together, compared with the same client's. */
function processorTarget(setting, most) {
  return {
    claim: `CPU of a decision, ${setting.inFlight} in flight, ${titleOf(setting.library)}, × rate-limit-redis`,
    most,
    read: (rows) => {
      const time = (name) => processorTime(find(rows, { ...setting, name }));
      return time("Headgate") / time("rate-limit-redis");
    },
  };
}

function processorTime({ nodeMicroseconds = [], redisCpuMicroseconds = [] }) {
  return median(nodeMicroseconds) + median(redisCpuMicroseconds);
}

function commandsTarget(words, isBusy, most) {
  return {
    claim: `commands a second of a process ${words}`,
    most,
    read: (rows) =>
      find(rows, { what: "commands", name: "Headgate", isBusy }).commandsPerSecond ?? Number.NaN,
  };
}

function httpTarget(framework, store, outcome, least) {
  const { title, peer } = FRAMEWORKS[framework];
  return {
    claim: `HTTP, ${title}, ${store}, ${outcome}, requests/s, × ${peer}`,
    least,
    read: (rows) => {
      const perSecond = (name) => find(rows, { suite: "http", framework, name, outcome }).perSecond;
      return ratioOf(perSecond(`Headgate, ${store}`), perSecond(`${peer}, ${store}`));
    },
  };
}

function instructionsAlone(name, limits, budgets) {
  return Object.entries(budgets).map(([kind, most]) => {
    const [words, member] = MEMBERS[kind];
    return instructions("alone", name, limits, member, most, `, ${words}`);
  });
}

function instructions(mode, name, limits, member, most, words = "") {
  return {
    claim: `instructions of Redis, ${mode}, ${limits} × ${name}${words}`,
    most,
    read: (rows) => find(rows, { suite: "redis", mode, name, limits })[member] ?? Number.NaN,
  };
}

function inProcess(name, nanoseconds) {
  return {
    claim: `${name}, CPU ns`,
    most: nanoseconds,
    read: (rows) => median(netOf(rows, name, "cpuNanoseconds")),
  };
}

/** The row with these members; one without numbers where nothing of the kind was measured. */
function find(rows, wanted) {
  const isWanted = (row) => Object.entries(wanted).every(([name, value]) => row[name] === value);
  return (
    rows.find(isWanted) ?? {
      perSecond: [],
      serverMicroseconds: [],
      microseconds: [],
      redisMicroseconds: [],
    }
  );
}

function againstBest(rows, setting) {
  const own = find(rows, { ...setting, name: "Headgate" });
  const ratios = PEERS.map((name) => find(rows, { ...setting, name }))
    .filter(({ perSecond }) => perSecond.length > 0)
    .map(({ perSecond }) => ratioOf(own.perSecond, perSecond));
  return ratios.length === 0 ? Number.NaN : Math.min(...ratios);
}

/** Returns each target with its measured value, which is NaN if the rows do not contain it. */
export function evaluateTargets(rows) {
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
