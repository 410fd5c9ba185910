import type { Duration, Store } from "@headgate/core";
import type {
  ActionLog,
  ActiveBlocks,
  Admin,
  ControlRecord,
  DeniedNetwork,
  LimiterUsage,
  RecentUsage,
  Registry,
  Usage,
  UsageCoverage,
  UsageSpan,
  UsageSummary,
} from "@headgate/core/admin";
import {
  createAdmin,
  readBlocks,
  readRecentUsage,
  readRegistry,
  readUsage,
  readUsageCoverage,
} from "@headgate/core/admin";
import { parseDuration, requireStore, toMilliseconds, withTimeout } from "@headgate/core/internal";
import type { Outage } from "./api.ts";
import type { Visibility } from "./caches.ts";
import { ResultCache, SnapshotCache } from "./caches.ts";
import type { Span } from "./counts.ts";
import { SPAN_MS } from "./counts.ts";
import { OutageTracker } from "./outage.ts";
import { withInputErrors } from "./serve/http-error.ts";

/** Loads data from Redis, with a cache that all visitors share. */
export interface FleetReader {
  readonly store: Store;
  readonly client: object;
  readonly admin: Admin;
  readonly timeoutMs: number;
  /** The decision counts of all limiters, without subjects. */
  loadUsage(span: Span): Promise<UsageSummary>;
  /** The decision counts of one limiter, with its top subjects. */
  loadLimiterUsage(limiter: string, span: Span): Promise<Usage>;
  /** The same for the limiter's most denied subjects; of a day or longer, at most a minute old, because much is read for them. */
  loadDenied(limiter: string, span: Span): Promise<readonly LimiterUsage[]>;
  /** The decisions of one limiter by minute, of at most a day: from the ten minutes in which the span begins, as its subjects are. */
  loadMinutes(limiter: string, span: Span): Promise<readonly UsageSpan[]>;
  /** The recent usage of a limiter, or of all, to say whom an action would affect; at most 30 seconds old, undefined if it cannot be read. */
  loadRecentUsage(limiter?: string): Promise<RecentUsage | undefined>;
  loadRegistry(): Promise<Registry>;
  loadBlocks(): Promise<ActiveBlocks>;
  /** The processes that report usage. */
  loadCoverage(): Promise<UsageCoverage>;
  loadControl(): Promise<TimedControl>;
  loadLog(): Promise<ActionLog>;
  /** The entries of the deny list that contain an address. */
  findDenyListEntries(address: string): Promise<readonly DeniedNetwork[]>;
  /** The time of the Redis server's clock, in milliseconds since the epoch. */
  serverTime(): Promise<number>;
  /** Shares the result that `make` makes of loaded data, for two seconds, with all visitors who may see the same names. */
  shareResult<Data, Result extends object>(
    key: string,
    load: () => Promise<Data>,
    make: (data: Data) => Result,
    visibility?: Visibility,
  ): Promise<Result>;
  /** Caches data that no action changes: each key is read at most once in `everyMs`, and after a failure in `afterFailureMs`. */
  cacheRead<T>(
    key: string,
    read: () => Promise<T>,
    everyMs?: number,
    afterFailureMs?: number,
  ): Promise<T>;
  /** The outage in progress; undefined if Redis answered last. */
  outage(): Outage | undefined;
  /** Drops cached data, after an action. */
  clearCache(): void;
}

/** The control record, and how long Redis takes to answer: the median of the last reads of the record. */
export interface TimedControl {
  readonly record: ControlRecord;
  readonly latencyMs: number;
}

/** The number of reads in that median: one slow read is no slow Redis. */
const MAX_LATENCIES = 15;

/** How often recent usage is read at most, also if that fails: much is read. */
const RECENT_USAGE_MS = 30_000;

/** How much earlier than a span the minutes begin: ten minutes, and one more because the two are not read at the same time. */
const MINUTES_BEFORE_MS = 660_000;

const SEES_ALL: Visibility = { canSee: () => true, answers: new Map() };

/** Creates a reader of a store. Throws `HEADGATE_INVALID_OPTION`. Its methods reject with the store's errors. */
export function createFleetReader(store: Store, timeout: Duration = "2s"): FleetReader {
  const admin = createAdmin(store, { storeTimeout: timeout });
  const client = requireStore(store).owner;
  const timeoutMs = toMilliseconds(
    parseDuration(timeout, "storeTimeout", "HEADGATE_INVALID_OPTION"),
  );
  const snapshots = new SnapshotCache();
  const results = new ResultCache();
  /** Data that no action changes. */
  const actionIndependent = new SnapshotCache();
  const cacheRead: FleetReader["cacheRead"] = (...read) => actionIndependent.get(...read);
  const outages = new OutageTracker(store);
  const latencies: number[] = [];
  const load: FleetReader["cacheRead"] = (key, read, ...ages) =>
    snapshots.get(key, () => outages.watch(read()), ...ages);
  const loadRegistry: FleetReader["loadRegistry"] = () =>
    load("registry", async () => {
      const registry = await readRegistry(store, { timeout });
      outages.remember(registry);
      return registry;
    });
  return {
    store,
    client,
    admin: checkingInput(admin),
    timeoutMs,
    cacheRead,
    shareResult: (key, load, make, visibility) =>
      visibility === undefined
        ? results.get(`whole ${key}`, SEES_ALL, load, make)
        : results.get(key, visibility, load, make),
    loadUsage: (span) =>
      load(`usage ${span}`, () => readUsage(store, { span, timeout, summaryOnly: true })),
    loadLimiterUsage: (limiter, span) =>
      load(`limiter ${span} ${limiter}`, () => readUsage(store, { limiter, span, timeout })),
    loadDenied: async (limiter, span) => {
      const maxAgeMs = span === "24h" || span === "30d" ? 60_000 : 5_000;
      const { limiters } = await load(
        `denied ${span} ${limiter}`,
        () => readUsage(store, { limiter, span, timeout }),
        maxAgeMs,
      );
      return limiters.filter(({ name }) => name === limiter);
    },
    loadMinutes: async (limiter, given) => {
      const span = Math.min(SPAN_MS[given] + MINUTES_BEFORE_MS, SPAN_MS["24h"]);
      const { limiters } = await load(`minutes ${span} ${limiter}`, () =>
        readUsage(store, { limiter, span, timeout, summaryOnly: true }),
      );
      return limiters.find(({ name }) => name === limiter)?.minutes ?? [];
    },
    loadRecentUsage: (limiter) =>
      load(
        `recent ${limiter ?? ""}`,
        () => readRecentUsage(store, { limiter, timeout }),
        RECENT_USAGE_MS,
        RECENT_USAGE_MS,
      ).catch(() => undefined),
    loadBlocks: () =>
      load("blocks", async () => readBlocks(store, { timeout, registry: await loadRegistry() })),
    loadCoverage: () =>
      load("coverage", async () =>
        readUsageCoverage(store, { timeout, registry: await loadRegistry() }),
      ),
    loadRegistry,
    loadControl: () => load("control", () => readControl(admin, latencies)),
    loadLog: () => load("log", () => admin.log()),
    findDenyListEntries: (address) => withInputErrors(() => admin.denyList(address)),
    async serverTime() {
      const here = (): number => Date.now() - performance.now();
      const known = cacheRead("clock", () => readClockOffset(client));
      const offset = await withTimeout(timeoutMs, known.catch(here), here);
      return Math.floor(offset + performance.now());
    },
    outage: () => outages.current(),
    clearCache() {
      snapshots.clear();
      results.clear();
    },
  };
}

/** An admin whose methods, which get the input of visitors, reject with an `HttpError` if it is invalid. */
function checkingInput(admin: Admin): Admin {
  const methods = Object.entries(admin).map(([name, method]) => [
    name,
    (...given: unknown[]) => withInputErrors(() => method(...given)),
  ]);
  return Object.fromEntries(methods) as Admin;
}

/** Reads the control record, and adds how long that took to `latencies`. */
async function readControl(admin: Admin, latencies: number[]): Promise<TimedControl> {
  const began = performance.now();
  const record = await admin.readControl();
  latencies.push(performance.now() - began);
  if (latencies.length > MAX_LATENCIES) latencies.shift();
  const sorted = latencies.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] as number;
  return { record, latencyMs: Math.round(median * 100) / 100 };
}

/** The part of a Redis client that reads the server's time: ioredis returns strings, node-redis a date. */
interface TimeClient {
  time?(): Promise<unknown>;
}

/** How far the server's clock is ahead of `performance.now()`, in milliseconds. */
async function readClockOffset(client: TimeClient): Promise<number> {
  const reply = await client.time?.();
  return parseServerTime(reply) - performance.now();
}

/** Parses the reply of TIME; this machine's time if the client has no such command. */
function parseServerTime(reply: unknown): number {
  if (reply instanceof Date) return reply.getTime();
  if (!Array.isArray(reply)) return Date.now();
  const [seconds, microseconds] = reply as readonly unknown[];
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
