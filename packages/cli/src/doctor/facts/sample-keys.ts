import type { ServerConnection } from "./fact.ts";

/** At most 20 calls of SCAN, each for about 1,000 keys. */
const MAX_SCANS = 20;
const SCAN_COUNT = 1_000;

/** The most keys whose expiry and memory are read. */
const MAX_INSPECTED = 200;

/** Replies of PTTL. */
const PTTL_NO_KEY = -2;
const PTTL_NO_EXPIRY = -1;

/** A sample of a server's keys. */
export interface KeySample {
  /** How many keys the server has, with any prefix. */
  readonly total: number;
  readonly scanned: number;
  /** How many of the scanned keys have the prefix. */
  readonly matched: number;
  /** Whether all keys of the server were scanned. */
  readonly isComplete: boolean;
  /** Some of the keys with the prefix. */
  readonly inspected: readonly SampledKey[];
}

interface SampledKey {
  readonly key: string;
  /** Undefined if the key never expires. */
  readonly ttlMs: number | undefined;
  /** Undefined if the server refuses MEMORY USAGE. */
  readonly bytes: number | undefined;
}

/** Samples keys in a bounded number of calls. Rejects with the server's error. */
export async function sampleKeys(server: ServerConnection, prefix: string): Promise<KeySample> {
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
