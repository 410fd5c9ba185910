import { titleOf } from "../../test/bench/clients.mjs";
import { FRAMEWORKS } from "../../test/bench/http/frameworks.mjs";
import { netOf } from "../../test/bench/in-process/net.mjs";
import { ratioOf } from "../../test/bench/statistics.mjs";
import { titleOfCase } from "../../test/bench/tables/decisions.mjs";

/** The limiters that are faster than Headgate at the same task, as lines of a list, one for each task; without the baselines. */
export function listLosses(rows) {
  const losses = [
    ...decisionLosses(rows),
    ...httpLosses(rows),
    ...redisLosses(rows),
    ...memoryLosses(rows),
    ...keyLosses(rows),
    ...clusterLosses(rows),
    ...startLosses(rows),
  ];
  const tasks = new Map();
  for (const { task, loss, another } of losses) {
    tasks.set(task, tasks.has(task) ? `${tasks.get(task)}; ${another}` : `${task}: ${loss}`);
  }
  return [...tasks.values()];
}

function decisionLosses(rows) {
  const own = rows.filter(({ suite }) => suite === "decisions");
  return own
    .filter(({ name }) => isPeer(name))
    .flatMap((row) => {
      const ours = own.find(
        (one) =>
          one.name === "Headgate" &&
          one.library === row.library &&
          titleOfCase(one) === titleOfCase(row),
      );
      const share = ratioOf(ours.perSecond, row.perSecond);
      if (share >= 1) return [];
      return [
        {
          task: `${titleOfCase(row)}, ${titleOf(row.library)}`,
          loss: `${percent(share)} of the decisions of ${row.name}`,
          another: `${percent(share)} of ${row.name}`,
        },
      ];
    });
}

function httpLosses(rows) {
  const own = rows.filter(({ suite }) => suite === "http");
  return own
    .filter(({ name }) => isPeer(name) && /memory|Redis/.test(name))
    .flatMap((row) => {
      const store = row.name.endsWith("Redis") ? "Redis" : "memory";
      const ours = own.find(
        (one) =>
          one.name === `Headgate, ${store}` &&
          one.framework === row.framework &&
          one.outcome === row.outcome,
      );
      const share = ratioOf(ours.perSecond, row.perSecond);
      if (share >= 1) return [];
      return [
        {
          task: `HTTP, ${FRAMEWORKS[row.framework].title}, ${row.outcome}`,
          loss: `${percent(share)} of the requests of ${row.name}`,
          another: `${percent(share)} of ${row.name}`,
        },
      ];
    });
}

function redisLosses(rows) {
  const own = rows.filter(({ suite, limits }) => suite === "redis" && limits === 1);
  return own
    .filter(({ name }) => isPeer(name))
    .flatMap((row) => {
      const ours = own.find(({ name, mode }) => name === "fixedWindow" && mode === row.mode);
      const times = ratioOf(ours.microseconds, row.microseconds);
      const mode = row.mode === "alone" ? "one decision a call" : "full batches";
      const time =
        times > 1
          ? [
              {
                task: `Redis, ${mode}`,
                loss: `fixedWindow takes ${times.toFixed(2)} × the time of ${row.name}`,
                another: `${times.toFixed(2)} × that of ${row.name}`,
              },
            ]
          : [];
      const [bytes] = ours.bytes;
      const space =
        row.mode === "alone" && bytes > row.bytes[0]
          ? [
              {
                task: "Redis",
                loss: `a key takes ${bytes} bytes, one of ${row.name} ${row.bytes[0]}`,
                another: `of ${row.name} ${row.bytes[0]}`,
              },
            ]
          : [];
      return [...time, ...space];
    });
}

/** By the processor time of a call, without that of the loop around it. */
function memoryLosses(rows) {
  return ["", ", 100,000 keys"].flatMap((keys) => {
    const ours = netOf(rows, `memory, fixedWindow${keys}`, "cpuNanoseconds");
    const peers = rows.filter(
      ({ suite, name }) =>
        suite === "in-process" && isPeer(name) && (name.match(/, \d.*$/)?.[0] ?? "") === keys,
    );
    return peers.flatMap(({ name }) =>
      lossOf(`in memory${keys}`, "a decision takes", "the time", name, [
        ours,
        netOf(rows, name, "cpuNanoseconds"),
      ]),
    );
  });
}

function keyLosses(rows) {
  const own = rows.filter(({ suite }) => suite === "in-process");
  const ours = own.find(({ name }) => name === "memory, fixedWindow")?.bytesPerKey;
  return own
    .filter(({ name, bytesPerKey }) => isPeer(name) && bytesPerKey !== undefined)
    .flatMap(({ name, bytesPerKey }) =>
      lossOf("memory", "a key takes", "the bytes", name, [[ours], [bytesPerKey]]),
    );
}

function clusterLosses(rows) {
  const own = rows.filter(({ what, at }) => what === "servers" && at > 1);
  return own
    .filter(({ name }) => isPeer(name))
    .flatMap(({ client, name, perSecond }) => {
      const ours = own.find((one) => one.name === "Headgate" && one.client === client);
      const share = ours === undefined ? 1 : ratioOf(ours.perSecond, perSecond);
      if (share >= 1) return [];
      return [
        {
          task: `a cluster of 3, 64 in flight, ${client}`,
          loss: `${percent(share)} of the decisions of ${name}`,
          another: `${percent(share)} of ${name}`,
        },
      ];
    });
}

function startLosses(rows) {
  const own = rows.filter(({ what }) => what === "first decision");
  const ours = own.find(({ name }) => name === "Headgate");
  return own
    .filter(({ name }) => isPeer(name))
    .flatMap(({ name, milliseconds }) =>
      lossOf("a new process", "the first decision takes", "the time", name, [
        ours.milliseconds,
        milliseconds,
      ]),
    );
}

/** What takes more than the peer's, with how many times as much. */
function lossOf(task, subject, unit, name, [ours, theirs]) {
  const times = ratioOf(ours, theirs);
  if (!(times > 1)) return [];
  // The task says how many keys there are, and that they are in memory.
  const peer = name.replace(/, memory.*$/, "");
  return [
    {
      task,
      loss: `${subject} ${times.toFixed(1)} × ${unit} of ${peer}`,
      another: `${times.toFixed(1)} × ${unit} of ${peer}`,
    },
  ];
}

function isPeer(name) {
  return /^(express-rate-limit|rate-limit-redis|@fastify|rate-limiter-flexible|hono-rate-limiter|@nestjs)/.test(
    name,
  );
}

function percent(share) {
  return `${(share * 100).toFixed(share > 0.99 ? 1 : 0)} %`;
}
