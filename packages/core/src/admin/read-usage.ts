import { invalidValue } from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration } from "../common/time.ts";
import { isWholeNumber } from "../common/type-guards.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { Entries } from "../redis/read-values.ts";
import type { CountingStore, Store } from "../store/store.ts";
import type { Resolution } from "../usage/layout.ts";
import {
  DAY_MICROS,
  indexedName,
  limiterKey,
  OTHER_LIMITERS,
  RESOLUTIONS,
  SUBJECTS_TTL_MICROS,
  startsBetween,
  TEN_MINUTES_MICROS,
  usageKey,
} from "../usage/layout.ts";
import { readUsageClock } from "../usage/operations.ts";
import type { SourceOptions, UnreadableRecord } from "./admin-source.ts";
import { createRecordReader, readFrom } from "./admin-source.ts";
import type { StoredCounts, StoredList } from "./merge-usage.ts";
import { mergeDenials, mergeTopSubjects, sumCounts } from "./merge-usage.ts";
import type {
  LimiterUsage,
  TopList,
  Usage,
  UsageSeries,
  UsageSpan,
  UsageSummary,
} from "./usage.ts";

/** Options of `readUsage`. */
export interface ReadUsageOptions extends SourceOptions {
  /** The name of the only limiter to read. Default: all. */
  readonly limiter?: string | undefined;
  /** The time that totals, subjects and limits cover: the last 10 seconds to 30 days. Default one hour. */
  readonly span?: Duration | undefined;
  /** Whether to leave out subjects and denials by limit, which are most of what is read. Default false. */
  readonly summaryOnly?: boolean | undefined;
}

/**
 * Reads the decisions of limiters, and their busiest subjects, from a store in Redis or through a Redis client.
 * Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_REDIS_CLIENT`, and with the store's errors.
 */
export function readUsage(
  source: Store | RedisClient,
  options: ReadUsageOptions & { readonly summaryOnly: true },
): Promise<UsageSummary>;
export function readUsage(source: Store | RedisClient, options?: ReadUsageOptions): Promise<Usage>;
export async function readUsage(
  source: Store | RedisClient,
  options: ReadUsageOptions = {},
): Promise<UsageSummary> {
  const known = ["prefix", "timeout", "limiter", "span", "summaryOnly"];
  rejectUnknownOptions("readUsage", options, known);
  const { limiter } = options;
  if (limiter !== undefined && (typeof limiter !== "string" || limiter === "")) {
    throw invalidValue("readUsage: limiter must be the name of a limiter", limiter);
  }
  const summaryOnly = readBoolean("readUsage: summaryOnly", options.summaryOnly);
  const span = readSpan(options.span ?? "1h");
  return readFrom("readUsage", source, options, (store) =>
    readAll(store, { limiter, span, summaryOnly }),
  );
}

function readSpan(given: Duration): number {
  const span = parseDuration(given, "span", "HEADGATE_INVALID_OPTION");
  if (span >= RESOLUTIONS.tenSeconds.step && span <= RESOLUTIONS.hours.span) return span;
  throw invalidValue("readUsage: span must be from 10 seconds to 30 days", given);
}

/** What to read: one limiter or all, over this many microseconds. */
interface UsageQuery {
  readonly limiter: string | undefined;
  readonly span: number;
  readonly summaryOnly: boolean;
}

/** By how much the clock of a process, which says to which ten minutes subjects belong, may be ahead of the server's. */
const MAX_SKEW_SECONDS = 5;

/** What `limiterKey` calls a kind. */
type Kind = Parameters<typeof limiterKey>[2];

/** Reads what is kept of each limiter for each of some periods, or only for those that `where` has something for. */
type ReadPeriods = <T extends object>(
  limiters: readonly string[],
  kind: Kind,
  starts: readonly number[],
  parse: (entries: Entries) => T | "damaged",
  where?: Grid<unknown>,
) => Promise<Grid<T>>;

/** Values by limiter and period. */
type Grid<T> = readonly (readonly (T | undefined)[])[];

async function readAll(
  store: CountingStore,
  { limiter, span, summaryOnly }: UsageQuery,
): Promise<UsageSummary> {
  const { prefix } = store;
  const [now = 0] = await store.run(readUsageClock, { prefix });
  const unreadable: UnreadableRecord[] = [];
  const reader = createRecordReader(store, unreadable);
  const readPeriods: ReadPeriods = async (limiters, kind, starts, parse, where) => {
    const isRead = (i: number, j: number): boolean => where === undefined || Boolean(where[i]?.[j]);
    const keys = limiters.flatMap((name, i) =>
      starts.filter((_, j) => isRead(i, j)).map((from) => limiterKey(prefix, name, kind, from)),
    );
    const type = kind === "used" || kind === "denied" ? "zset" : "hash";
    const found = (await reader.entries(type, keys, parse)).values();
    return limiters.map((_, i) =>
      starts.map((_, j) => (isRead(i, j) ? found.next().value : undefined)),
    );
  };
  const [index = {}] = await reader.entries("zset", [usageKey(prefix)], parseCounts);
  const oldest = (now - Math.max(span, SUBJECTS_TTL_MICROS)) / 1_000_000;
  const indexed = Object.keys(index).filter((name) => (index[name] ?? 0) >= oldest);
  const names = limiter === undefined ? [...indexed, OTHER_LIMITERS] : [indexedName(limiter)];
  const series = await readSeries(readPeriods, names, now, span);
  const limiters = names
    .map((name, i) => ({ name, ...(series[i] as UsageSeries) }))
    .filter(({ name }) => name !== OTHER_LIMITERS)
    .filter((one) => indexed.includes(one.name) || hasDecisions(one))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  const others = series.find((one, i) => names[i] === OTHER_LIMITERS && hasDecisions(one));
  const at = Math.floor(now / 1_000);
  const rest = { ...(others === undefined ? {} : { others }), unreadable };
  if (summaryOnly) return { at, limiters, ...rest };
  const all = limiters.map(({ name }) => ({ name, lastCountedAt: index[name] ?? now / 1_000_000 }));
  const details = await readDetails(readPeriods, all, now, span);
  const detailed = limiters.map((one, i) => ({ ...one, ...details[i] }) as LimiterUsage);
  return { at, limiters: detailed, ...rest } as Usage;
}

/** The decisions of each limiter in a span. */
async function readSeries(
  read: ReadPeriods,
  limiters: readonly string[],
  now: number,
  span: number,
): Promise<readonly UsageSeries[]> {
  /** The step in which the time begins is not whole, and left out. */
  async function readSteps({ kind, period }: Resolution, past: number) {
    const found = await read(limiters, kind, startsBetween(now - past, now, period), parseSteps);
    return found.map((periods) =>
      periods
        .flatMap((steps) => steps ?? [])
        .filter(({ from }) => from * 1_000 > now - past)
        .sort((one, other) => one.from - other.from),
    );
  }
  const { tenSeconds, minutes, hours } = RESOLUTIONS;
  const recent = await readSteps(tenSeconds, tenSeconds.span);
  const isLong = span > minutes.span;
  const steps = await readSteps(isLong ? hours : minutes, span);
  return limiters.map((_, i): UsageSeries => {
    const [shortest = [], ofSpan = []] = [recent[i], steps[i]];
    const counted =
      span > tenSeconds.span ? ofSpan : shortest.filter(({ from }) => from * 1_000 > now - span);
    return {
      total: sumCounts(counted),
      tenSeconds: shortest,
      minutes: isLong ? [] : ofSpan,
      hours: isLong ? ofSpan : [],
    };
  });
}

function hasDecisions({ tenSeconds, minutes, hours }: UsageSeries): boolean {
  return tenSeconds.length + minutes.length + hours.length > 0;
}

/** The subjects of each limiter in a span, or in its last day, and the denials by limit in the span. */
async function readDetails(
  read: ReadPeriods,
  limiters: readonly { readonly name: string; readonly lastCountedAt: number }[],
  now: number,
  span: number,
): Promise<readonly Pick<LimiterUsage, "subjects" | "limits">[]> {
  const names = limiters.map(({ name }) => name);
  const starts = startsBetween(
    now - Math.min(span, DAY_MICROS - TEN_MINUTES_MICROS),
    now,
    TEN_MINUTES_MICROS,
  );
  // A limiter has no subjects after its last counts, and most of the ten minutes of most limiters have none of the other values.
  const counted = limiters.map(({ lastCountedAt }) =>
    starts.map((start) => start <= (lastCountedAt + MAX_SKEW_SECONDS) * 1_000_000),
  );
  const bounds = await read(names, "bounds", starts, parseCounts, counted);
  const used = await read(names, "used", starts, parseCounts, bounds);
  const denied = await read(names, "denied", starts, parseCounts, bounds);
  const isLong = span > DAY_MICROS;
  const days = startsBetween(now - span, now, DAY_MICROS);
  const denials = isLong
    ? await read(names, "day-denials", days, parseCounts)
    : await read(names, "denials", starts, parseCounts, bounds);
  const merge = (by: "used" | "denied", counts: Grid<StoredCounts>, i: number): TopList =>
    mergeTopSubjects(starts.map((_, j) => listOf(by, counts[i]?.[j], bounds[i]?.[j])));
  const inMs = ([first = 0]: readonly number[]): number => first / 1_000;
  return names.map((_, i) => ({
    subjects: {
      from: inMs(starts),
      used: merge("used", used, i),
      denied: merge("denied", denied, i),
    },
    limits: mergeDenials(
      (denials[i] ?? []).map((one) => one ?? {}),
      inMs(isLong ? days : starts),
    ),
  }));
}

function listOf(
  by: "used" | "denied",
  counts: StoredCounts = {},
  bounds: StoredCounts = {},
): StoredList {
  const bound = (name: string): number => bounds[`${by} ${name}`] ?? 0;
  return {
    missed: bound("missed"),
    floor: bound("floor"),
    total: bound("total"),
    subjects: Object.entries(counts).map(([member, count]) => ({
      member,
      count,
      error: bound(member),
    })),
  };
}

function parseCounts(entries: Entries): StoredCounts | "damaged" {
  const counts: Record<string, number> = Object.create(null);
  for (const [name, text] of entries) {
    const count = Number(text);
    if (!isWholeNumber(count)) return "damaged";
    counts[name] = count;
  }
  return counts;
}

/** Steps, by the second at which each begins. */
function parseSteps(entries: Entries): readonly UsageSpan[] | "damaged" {
  const steps = entries.map(([second, text]): UsageSpan => {
    const [allowed = Number.NaN, denied = Number.NaN, degraded = Number.NaN] = text
      .split(" ")
      .map(Number);
    return { from: Number(second) * 1_000, allowed, denied, degraded };
  });
  return steps.every((step) => Object.values(step).every(isWholeNumber)) ? steps : "damaged";
}
