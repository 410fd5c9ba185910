import type { Role } from "../roles.ts";
import type { Asker } from "./fact.ts";
import { factOf, Unknown } from "./fact.ts";
import type { ClockReading, ClusterView, ServerFacts, SlowCommand } from "./facts.ts";
import { parseInfo } from "./info.ts";
import { readPermissions } from "./permissions.ts";
import { sampleKeys } from "./sample-keys.ts";
import { watchScripts } from "./watch-scripts.ts";

/** How many small calls are timed, or how many milliseconds this takes at most. */
const CALLS = 200;
const TIMED_MS = 1_000;

/** What is wanted of a server. */
export interface Wanted {
  readonly prefix: string;
  readonly role: Role;
  /** Whose permissions; undefined: of the user who is connected. */
  readonly as: string | undefined;
  /** Milliseconds since the epoch, by this machine. */
  readonly clock: () => number;
}

/** Times small calls, one after the other: nothing else is sent meanwhile, or it would be timed as well. */
export async function timeCalls(server: Asker): Promise<readonly number[]> {
  const latencies: number[] = [];
  const start = performance.now();
  while (latencies.length < CALLS && performance.now() - start < TIMED_MS) {
    const before = performance.now();
    await server.ask("TIME");
    latencies.push(performance.now() - before);
  }
  return latencies.sort((a, b) => a - b);
}

/** Asks a server for everything that is judged of it. */
export async function gatherServer(
  server: Asker,
  latencies: ServerFacts["latencies"],
  { prefix, role, as, clock }: Wanted,
): Promise<ServerFacts> {
  const { place, cli, decides } = server;
  const reading = await factOf("TIME", () => readClock(server, clock));
  const [config, slow, cluster, scripts, permissions, keys] = await Promise.all([
    factOf("CONFIG GET", async () => pairsOf(await server.ask("CONFIG", "GET", "*"))),
    factOf("SLOWLOG GET", () => readSlow(server)),
    readCluster(server),
    factOf("EVAL", () => watchScripts(server)),
    decides ? factOf("ACL DRYRUN", () => readPermissions(server, role, prefix, as)) : undefined,
    decides ? factOf("SCAN", () => sampleKeys(server, prefix)) : undefined,
  ]);
  // Last, so that it counts what happened while the server was watched.
  const info = await factOf("INFO", async () => parseInfo(String(await server.ask("INFO", "ALL"))));
  return {
    place,
    cli,
    decides,
    info,
    config,
    latencies,
    clock: reading,
    slow,
    scripts,
    permissions,
    keys,
    cluster,
  };
}

/** The quickest of a few tries is the most exact. */
async function readClock(server: Asker, clock: () => number): Promise<ClockReading> {
  const readings: ClockReading[] = [];
  for (let tries = 0; tries < 5; tries += 1) {
    const before = clock();
    const start = performance.now();
    const [seconds, microseconds] = (await server.ask("TIME")) as readonly unknown[];
    const within = (performance.now() - start) / 2;
    const there = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    readings.push({ ahead: there - before - within, within });
  }
  return readings.reduce((best, other) => (other.within < best.within ? other : best));
}

async function readSlow(server: Asker): Promise<readonly SlowCommand[]> {
  const entries = (await server.ask("SLOWLOG", "GET", "128")) as readonly (readonly unknown[])[];
  const [seconds] = (await server.ask("TIME")) as readonly unknown[];
  return entries.map(([, at, microseconds, words]) => ({
    command: String((words as readonly unknown[])[0]).toUpperCase(),
    milliseconds: Number(microseconds) / 1_000,
    secondsAgo: Math.max(0, Number(seconds) - Number(at)),
  }));
}

/** Undefined where it is not in cluster mode. */
async function readCluster(server: Asker): Promise<ServerFacts["cluster"]> {
  const view = await factOf("CLUSTER INFO", async (): Promise<ClusterView> => {
    const info = parseInfo(String(await server.ask("CLUSTER", "INFO")));
    const ranges = (await server.ask("CLUSTER", "SLOTS")) as readonly (readonly unknown[])[];
    const slots = ranges.map(([first, last, ...owners]) => ({
      first: Number(first),
      last: Number(last),
      places: owners.map((owner) => (owner as readonly unknown[]).slice(0, 2).join(":")),
    }));
    return { info, slots };
  });
  const isOff = view instanceof Unknown && /cluster support disabled/i.test(view.why);
  return isOff ? undefined : view;
}

/** What is answered as names and values in turn. */
function pairsOf(reply: unknown): Readonly<Record<string, string>> {
  const words = reply as readonly unknown[];
  return Object.fromEntries(
    words.flatMap((word, i) => (i % 2 === 0 ? [[String(word), String(words[i + 1])]] : [])),
  );
}
