import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ControlRecord, UnreadableRecord } from "@headgate/core/admin";
import { createAdmin, readRegistry, readUsage } from "@headgate/core/admin";
import type { Connection } from "../../connect/connection.ts";
import type {
  ClockReading,
  ClusterFacts,
  Facts,
  KeySample,
  Role,
  SampledKey,
  ScriptCacheProbe,
  ServerConnection,
  ServerFacts,
  SlowCommand,
} from "./facts.ts";
import { parseInfo, readFact, redactedMessage, UnknownFact } from "./facts.ts";
import { openServers, readSentinels } from "./open-servers.ts";
import { readPermissions } from "./permissions.ts";

interface GatherOptions {
  readonly role: Role;
  /** The Redis user whose permissions are checked. Default: the connected user. */
  readonly aclUser?: string | undefined;
  readonly storeTimeoutMs: number;
}

/** Gathers the facts for all checks. It changes nothing and never rejects: a refused command gives an `UnknownFact`. */
export async function gatherFacts(connection: Connection, options: GatherOptions): Promise<Facts> {
  const { store, prefix, timeoutMs } = connection;
  const { topology, connections, unreachable, close } = await openServers(connection);
  try {
    const latencies: ServerFacts["latenciesMs"][] = [];
    for (const server of connections) {
      latencies.push(await readFact("TIME", () => timeCalls(server)));
    }
    const [servers, sentinels, registry, unreadUsage, control] = await Promise.all([
      Promise.all(
        connections.map((server, i) => gatherServer(server, latencies[i] ?? [], prefix, options)),
      ),
      readSentinels(connection),
      readFact("EVALSHA", () => readRegistry(store, { timeout: timeoutMs }).catch(rethrowCause)),
      readFact("EVALSHA", () => readUnreadUsage(connection)),
      readFact("EVALSHA", () => readControl(connection)),
    ]);
    return {
      prefix,
      topology,
      storeTimeoutMs: options.storeTimeoutMs,
      servers,
      unreachable,
      sentinels,
      registry,
      unreadUsage,
      control,
    };
  } finally {
    close();
  }
}

/** Reads only the latest usage, because older records expire unread. */
async function readUnreadUsage({
  store,
  timeoutMs,
}: Connection): Promise<readonly UnreadableRecord[]> {
  const usage = await readUsage(store, { timeout: timeoutMs, span: "10s" }).catch(rethrowCause);
  return usage.unreadable;
}

async function readControl({ store, timeoutMs }: Connection): Promise<ControlRecord | "damaged"> {
  return createAdmin(store, { storeTimeout: timeoutMs })
    .readControl()
    .catch((error: unknown) => {
      if ((error as { code?: unknown }).code === "HEADGATE_CONTROL_CORRUPT") return "damaged";
      return rethrowCause(error);
    });
}

/** Rejects with the cause, which has the server's own message. */
function rethrowCause(error: unknown): never {
  throw new Error(redactedMessage((error as Error).cause ?? error));
}

/** Stops timing calls after this many, or after this time. */
const MAX_TIMED_CALLS = 200;
const MAX_TIMING_MS = 1_000;

/** Times small calls one after the other. Nothing else may be sent meanwhile, because it would be timed too. */
async function timeCalls(server: ServerConnection): Promise<readonly number[]> {
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
async function gatherServer(
  server: ServerConnection,
  latenciesMs: ServerFacts["latenciesMs"],
  prefix: string,
  { role, aclUser }: GatherOptions,
): Promise<ServerFacts> {
  const { address, redisCliArgs, receivesDecisions } = server;
  const clock = await readFact("TIME", () => readClock(server));
  const [config, slowCommands, cluster, scriptCache, permissions, keys] = await Promise.all([
    readFact("CONFIG GET", async () => parsePairs(await server.call("CONFIG", "GET", "*"))),
    readFact("SLOWLOG GET", () => readSlowCommands(server)),
    readCluster(server, prefix),
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
    clock,
    slowCommands,
    scriptCache,
    permissions,
    keys,
    cluster,
  };
}

/** Reads the clock five times and keeps the fastest reading, which is the most exact. */
async function readClock(server: ServerConnection): Promise<ClockReading> {
  const readings: ClockReading[] = [];
  for (let tries = 0; tries < 5; tries += 1) {
    const before = Date.now();
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
async function readCluster(
  server: ServerConnection,
  prefix: string,
): Promise<ServerFacts["cluster"]> {
  const facts = await readFact("CLUSTER INFO", async (): Promise<ClusterFacts> => {
    const info = parseInfo(String(await server.call("CLUSTER", "INFO")));
    const ranges = (await server.call("CLUSTER", "SLOTS")) as readonly (readonly unknown[])[];
    const hashSlots = ranges.map(([first, last, ...owners]) => ({
      first: Number(first),
      last: Number(last),
      owners: owners.map((owner) => (owner as readonly unknown[]).slice(0, 2).join(":")),
    }));
    const allowsUndeclaredKeys = server.receivesDecisions
      ? await tryUndeclaredKeys(server, prefix)
      : undefined;
    return { info, hashSlots, allowsUndeclaredKeys };
  });
  const isOff = facts instanceof UnknownFact && /cluster support disabled/i.test(facts.error);
  return isOff ? undefined : facts;
}

/** Reads keys that it does not declare, and returns how many it may read. */
const READ_UNDECLARED_KEYS = `local readable = 0
for i = 1, #ARGV do
  local value = redis.pcall("GET", ARGV[i])
  if type(value) ~= "table" or not value.err then readable = readable + 1 end
end
return readable`;

/** So many that a server with a hundredth of the hash slots has several of them. */
const UNDECLARED_KEYS = 500;

/** Of such keys, a server that does not allow them lets a script read those of one hash slot at most. */
async function tryUndeclaredKeys(
  server: ServerConnection,
  prefix: string,
): Promise<boolean | undefined> {
  const keys = Array.from({ length: UNDECLARED_KEYS }, (_, i) => `${prefix}:{doctor-${i}}:trial`);
  try {
    const readable = Number(await server.call("EVAL", READ_UNDECLARED_KEYS, "0", ...keys));
    if (readable > 0) return readable > 1;
    await server.call("GET", keys[0] as string);
    return false;
  } catch (error) {
    // The key may be on another server. A user who may not read keys does not learn whether scripts may.
    return /^MOVED/.test(redactedMessage(error)) ? false : undefined;
  }
}

/** Parses a reply in which names and values alternate. */
function parsePairs(reply: unknown): Readonly<Record<string, string>> {
  const words = reply as readonly unknown[];
  return Object.fromEntries(
    words.flatMap((word, i) => (i % 2 === 0 ? [[String(word), String(words[i + 1])]] : [])),
  );
}

/** At most 20 calls of SCAN, each for about 1,000 keys. */
const MAX_SCANS = 20;
const SCAN_COUNT = 1_000;

/** The most keys whose expiry and memory are read. */
const MAX_INSPECTED = 200;

const PTTL_NO_KEY = -2;
const PTTL_NO_EXPIRY = -1;

/** Samples keys in a bounded number of calls. Rejects with the server's error. */
async function sampleKeys(server: ServerConnection, prefix: string): Promise<KeySample> {
  const total = Number(await server.call("DBSIZE"));
  const matching = new Set<string>();
  let scanned = 0;
  let cursor = "0";
  let scans = 0;
  do {
    const reply = await server.call("SCAN", cursor, "COUNT", String(SCAN_COUNT));
    const [next, keys] = reply as [string, readonly string[]];
    cursor = String(next);
    scanned += keys.length;
    for (const key of keys) if (key.startsWith(`${prefix}:{`)) matching.add(key);
    scans += 1;
  } while (cursor !== "0" && scans < MAX_SCANS);
  const inspected = await Promise.all(
    [...matching].slice(0, MAX_INSPECTED).map((key) => inspectKey(server, key)),
  );
  return {
    total,
    scanned,
    matched: matching.size,
    isComplete: cursor === "0",
    inspected: inspected.filter((key) => key !== undefined),
  };
}

/** Undefined if the key has expired meanwhile. */
async function inspectKey(server: ServerConnection, key: string): Promise<SampledKey | undefined> {
  const [ttl, bytes] = await Promise.all([
    server.call("PTTL", key).then(Number),
    server.call("MEMORY", "USAGE", key).then(
      (reply) => (reply === null ? undefined : Number(reply)),
      () => undefined,
    ),
  ]);
  if (ttl === PTTL_NO_KEY) return undefined;
  return { key, ttlMs: ttl === PTTL_NO_EXPIRY ? undefined : ttl, bytes };
}

const SCRIPT = "return 'headgate doctor'";
const SHA1 = createHash("sha1").update(SCRIPT).digest("hex");

const WATCH_MS = 250;
const PAUSE_MS = 25;

/** Loads a script and watches for a quarter of a second whether the server keeps it. Rejects with the server's error. */
async function probeScriptCache(server: ServerConnection): Promise<ScriptCacheProbe> {
  await server.call("EVAL", SCRIPT, "0");
  const start = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - start);
  while (elapsedMs() < WATCH_MS) {
    await delay(PAUSE_MS);
    try {
      await server.call("EVALSHA", SHA1, "0");
    } catch (error) {
      if (!redactedMessage(error).startsWith("NOSCRIPT")) throw error;
      return { watchedMs: elapsedMs(), lostAfterMs: elapsedMs() };
    }
  }
  return { watchedMs: elapsedMs(), lostAfterMs: undefined };
}
