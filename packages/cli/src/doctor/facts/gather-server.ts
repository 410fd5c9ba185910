import type { Role } from "../roles.ts";
import type { ServerConnection } from "./fact.ts";
import { readFact, UnknownFact } from "./fact.ts";
import type { ClockReading, ClusterFacts, ServerFacts, SlowCommand } from "./facts.ts";
import { parseInfo } from "./info.ts";
import { readPermissions } from "./permissions.ts";
import { probeScriptCache } from "./probe-script-cache.ts";
import { sampleKeys } from "./sample-keys.ts";

/** Stops timing calls after this many, or after this time. */
const MAX_TIMED_CALLS = 200;
const MAX_TIMING_MS = 1_000;

/** Options of `gatherServer`. */
export interface ServerOptions {
  readonly prefix: string;
  readonly role: Role;
  /** The Redis user whose permissions are checked. Default: the connected user. */
  readonly aclUser: string | undefined;
  /** Milliseconds since the epoch, by this machine. */
  readonly clock: () => number;
}

/** Times small calls one after the other. Nothing else may be sent meanwhile, because it would be timed too. */
export async function timeCalls(server: ServerConnection): Promise<readonly number[]> {
  const latencies: number[] = [];
  const start = performance.now();
  while (latencies.length < MAX_TIMED_CALLS && performance.now() - start < MAX_TIMING_MS) {
    const before = performance.now();
    await server.call("TIME");
    latencies.push(performance.now() - before);
  }
  return latencies.sort((a, b) => a - b);
}

/** Gathers the facts about one server. */
export async function gatherServer(
  server: ServerConnection,
  latenciesMs: ServerFacts["latenciesMs"],
  { prefix, role, aclUser, clock }: ServerOptions,
): Promise<ServerFacts> {
  const { address, redisCliArgs, receivesDecisions } = server;
  const reading = await readFact("TIME", () => readClock(server, clock));
  const [config, slowCommands, cluster, scriptCache, permissions, keys] = await Promise.all([
    readFact("CONFIG GET", async () => parsePairs(await server.call("CONFIG", "GET", "*"))),
    readFact("SLOWLOG GET", () => readSlowCommands(server)),
    readCluster(server),
    readFact("EVAL", () => probeScriptCache(server)),
    receivesDecisions
      ? readFact("ACL DRYRUN", () => readPermissions(server, role, prefix, aclUser))
      : undefined,
    receivesDecisions ? readFact("SCAN", () => sampleKeys(server, prefix)) : undefined,
  ]);
  // Read last, so that it includes the calls of this run.
  const info = await readFact("INFO", async () =>
    parseInfo(String(await server.call("INFO", "ALL"))),
  );
  return {
    address,
    redisCliArgs,
    receivesDecisions,
    info,
    config,
    latenciesMs,
    clock: reading,
    slowCommands,
    scriptCache,
    permissions,
    keys,
    cluster,
  };
}

/** Reads the clock five times and keeps the fastest reading, which is the most exact. */
async function readClock(server: ServerConnection, clock: () => number): Promise<ClockReading> {
  const readings: ClockReading[] = [];
  for (let tries = 0; tries < 5; tries += 1) {
    const before = clock();
    const start = performance.now();
    const [seconds, microseconds] = (await server.call("TIME")) as readonly unknown[];
    const errorMs = (performance.now() - start) / 2;
    const serverTime = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    readings.push({ aheadMs: serverTime - before - errorMs, errorMs });
  }
  return readings.reduce((best, other) => (other.errorMs < best.errorMs ? other : best));
}

async function readSlowCommands(server: ServerConnection): Promise<readonly SlowCommand[]> {
  const entries = (await server.call("SLOWLOG", "GET", "128")) as readonly (readonly unknown[])[];
  const [seconds] = (await server.call("TIME")) as readonly unknown[];
  return entries.map(([, at, microseconds, words]) => ({
    command: String((words as readonly unknown[])[0]).toUpperCase(),
    durationMs: Number(microseconds) / 1_000,
    secondsAgo: Math.max(0, Number(seconds) - Number(at)),
  }));
}

/** Undefined if the server is not in cluster mode. */
async function readCluster(server: ServerConnection): Promise<ServerFacts["cluster"]> {
  const facts = await readFact("CLUSTER INFO", async (): Promise<ClusterFacts> => {
    const info = parseInfo(String(await server.call("CLUSTER", "INFO")));
    const ranges = (await server.call("CLUSTER", "SLOTS")) as readonly (readonly unknown[])[];
    const hashSlots = ranges.map(([first, last, ...owners]) => ({
      first: Number(first),
      last: Number(last),
      owners: owners.map((owner) => (owner as readonly unknown[]).slice(0, 2).join(":")),
    }));
    return { info, hashSlots };
  });
  const isOff = facts instanceof UnknownFact && /cluster support disabled/i.test(facts.error);
  return isOff ? undefined : facts;
}

/** Parses a reply in which names and values alternate. */
function parsePairs(reply: unknown): Readonly<Record<string, string>> {
  const words = reply as readonly unknown[];
  return Object.fromEntries(
    words.flatMap((word, i) => (i % 2 === 0 ? [[String(word), String(words[i + 1])]] : [])),
  );
}
