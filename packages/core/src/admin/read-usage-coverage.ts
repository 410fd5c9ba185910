import { rejectUnknownOptions } from "../common/options.ts";
import { isWholeNumber } from "../common/type-guards.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { Entries } from "../redis/read-values.ts";
import type { CountingStore, Store } from "../store/store.ts";
import { usageProcessKey } from "../usage/layout.ts";
import { readUsageClock } from "../usage/operations.ts";
import type { SourceOptions, UnreadableRecord } from "./admin-source.ts";
import { createRecordReader, readFrom } from "./admin-source.ts";
import type { Registry } from "./read-registry.ts";
import { readRegistryOf } from "./read-registry.ts";

/** Options of `readUsageCoverage`. */
export interface ReadUsageCoverageOptions extends SourceOptions {
  /** The registry, if it was read already. Default: it is read. */
  readonly registry?: Registry | undefined;
}

/** When a process last reported usage. */
export interface UsageReport {
  /** Its `id` in the registry. */
  readonly id: string;
  /** Milliseconds since the epoch, by the server's clock, to the second; missing if it reported nothing within an hour. */
  readonly at?: number | undefined;
}

/** Which processes report usage, and how old it is. */
export interface UsageCoverage {
  /** The server's clock, in milliseconds since the epoch. */
  readonly at: number;
  /** The processes that reported within 90 seconds, even if they had nothing to count. */
  readonly reporting: readonly UsageReport[];
  /**
   * All others that have limiters: usage is off or refused there, or the process runs a version that does not record when it
   * reports.
   */
  readonly silent: readonly UsageReport[];
  /** When the last report arrived, in milliseconds since the epoch: usage is no newer than that. Missing if there is none. */
  readonly newest?: number | undefined;
  /** The records that could not be read. */
  readonly unreadable: readonly UnreadableRecord[];
}

/** A process reports every 35 seconds at the latest. */
const RECENT_MS = 90_000;

/**
 * Reads which processes of the registry report usage, from a store in Redis or a Redis client. Rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_REDIS_CLIENT`, and with the store's errors.
 */
export async function readUsageCoverage(
  source: Store | RedisClient,
  options: ReadUsageCoverageOptions = {},
): Promise<UsageCoverage> {
  rejectUnknownOptions("readUsageCoverage", options, ["prefix", "timeout", "registry"]);
  return readFrom("readUsageCoverage", source, options, async (store) =>
    readAll(store, options.registry ?? (await readRegistryOf(store))),
  );
}

async function readAll(
  store: CountingStore,
  { limiters, processes, unreadable: notListed }: Registry,
): Promise<UsageCoverage> {
  const { prefix } = store;
  const unreadable: UnreadableRecord[] = [...notListed];
  const reader = createRecordReader(store, unreadable);
  const [now = 0] = await store.run(readUsageClock, { prefix });
  const at = Math.floor(now / 1_000);
  const limiting = new Set(limiters.flatMap((one) => one.processes));
  const names = processes
    .filter(({ id }) => limiting.has(id))
    .flatMap(({ id, names }) => names.map((name) => ({ id, name })));
  const keys = names.map(({ name }) => usageProcessKey(prefix, name));
  const reports = await reader.entries("hash", keys, parseReport);
  const latest = new Map<string, number>();
  for (const [i, { id }] of names.entries()) {
    latest.set(id, Math.max(latest.get(id) ?? 0, reports[i]?.at ?? 0));
  }
  const all = [...latest].map(([id, time]): UsageReport => (time > 0 ? { id, at: time } : { id }));
  const isRecent = ({ at: time = 0 }: UsageReport): boolean => at - time < RECENT_MS;
  const newest = Math.max(0, ...latest.values());
  return {
    at,
    reporting: all.filter(isRecent),
    silent: all.filter((one) => !isRecent(one)),
    ...(newest > 0 ? { newest } : {}),
    unreadable,
  };
}

/** When a process last reported, in milliseconds since the epoch. */
function parseReport(entries: Entries): { readonly at: number } | "damaged" {
  const at = Number(new Map(entries).get("at")) * 1_000;
  return isWholeNumber(at) ? { at } : "damaged";
}
