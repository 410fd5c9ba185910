import type { ServerConnection } from "./fact.ts";

/** So many rounds of SCAN at most, each of about so many keys. */
const MAX_SCANS = 20;
const SCAN_COUNT = 1_000;

/** Of so many keys at most the life and the memory are asked. */
const MAX_INSPECTED = 200;

/** Some of a server's keys. */
export interface KeySample {
  /** How many keys the server has, of all prefixes. */
  readonly total: number;
  readonly scanned: number;
  /** How many of those begin with the prefix. */
  readonly matched: number;
  /** Whether all were scanned. */
  readonly isComplete: boolean;
  /** Of some that matched. */
  readonly asked: readonly SampledKey[];
}

interface SampledKey {
  readonly key: string;
  /** Milliseconds to live; -1 for ever. */
  readonly ttlMs: number;
  /** Undefined where the server does not say. */
  readonly bytes: number | undefined;
}

/** Looks at some keys, in a bounded number of calls. Rejects with the server's words. */
export async function sampleKeys(server: ServerConnection, prefix: string): Promise<KeySample> {
  const total = Number(await server.call("DBSIZE"));
  const matching = new Set<string>();
  let scanned = 0;
  let cursor = "0";
  let rounds = 0;
  do {
    const reply = await server.call("SCAN", cursor, "COUNT", String(SCAN_COUNT));
    const [next, keys] = reply as [string, readonly string[]];
    cursor = String(next);
    scanned += keys.length;
    for (const key of keys) if (key.startsWith(`${prefix}:{`)) matching.add(key);
    rounds += 1;
  } while (cursor !== "0" && rounds < MAX_SCANS);
  const asked = await Promise.all(
    [...matching].slice(0, MAX_INSPECTED).map((key) => inspectKey(server, key)),
  );
  return {
    total,
    scanned,
    matched: matching.size,
    isComplete: cursor === "0",
    // Whatever expired meanwhile.
    asked: asked.filter(({ ttlMs }) => ttlMs !== -2),
  };
}

async function inspectKey(server: ServerConnection, key: string): Promise<SampledKey> {
  const [ttlMs, bytes] = await Promise.all([
    server.call("PTTL", key).then(Number),
    server.call("MEMORY", "USAGE", key).then(
      (reply) => (reply === null ? undefined : Number(reply)),
      () => undefined,
    ),
  ]);
  return { key, ttlMs, bytes };
}
