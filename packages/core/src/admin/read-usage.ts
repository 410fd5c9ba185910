import { invalidValue } from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration } from "../common/time.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { CountingStore, Store } from "../store/store.ts";
import {
  DAY_MICROS,
  dayKey,
  dayListKey,
  denialsKey,
  MAX_SPAN_MICROS,
  OTHER_LIMITERS,
  readUsageClock,
  SHORT_SPAN_MICROS,
  SHORT_SPANS,
  seriesKey,
  TEN_MINUTES_KEPT,
  TEN_MINUTES_MICROS,
  topSubjectsKey,
  usageKey,
} from "../usage/operations.ts";
import type {
  StoredDay,
  StoredDenials,
  StoredSeries,
  StoredTopSubjects,
  UsageSpan,
} from "../usage/parse-records.ts";
import {
  parseDay,
  parseDayList,
  parseLimits,
  parseSeries,
  parseTopSubjects,
  parseUsageIndex,
} from "../usage/parse-records.ts";
import { limiterId } from "../usage/usage-counter.ts";
import type { SourceOptions, UnreadableRecord } from "./admin-source.ts";
import { createRecordReader, readFrom } from "./admin-source.ts";
import { hoursAfter, mergeDenials, mergeTopSubjects, sumSpans } from "./merge-usage.ts";
import type {
  DenialsByLimit,
  LimiterUsage,
  SubjectUsage,
  Usage,
  UsageSeries,
  UsageSummary,
} from "./usage.ts";

/** Options of `readUsage`. */
export interface ReadUsageOptions extends SourceOptions {
  /** The name of the only limiter to read. Default: all. */
  readonly limiter?: string | undefined;
  /** The time that totals, subjects and limits cover: the last 10 seconds to 30 days. Default one hour. */
  readonly span?: Duration | undefined;
  /** Whether to leave out subjects and denials by limit, which are most of what is read; all time series stay. Default false. */
  readonly summaryOnly?: boolean | undefined;
}

/**
 * Microseconds: the longest span with data for every ten seconds, the longest with data for every ten minutes, and the shortest
 * span.
 */
const SHORT_SPANS_MICROS = SHORT_SPANS * SHORT_SPAN_MICROS;
const LONG_TERM_MICROS = TEN_MINUTES_KEPT * TEN_MINUTES_MICROS;
const MIN_SPAN_MICROS = SHORT_SPAN_MICROS;

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
  if (span >= MIN_SPAN_MICROS && span <= MAX_SPAN_MICROS) return span;
  throw invalidValue("readUsage: span must be from 10 seconds to 30 days", given);
}

/** What to read: one limiter or all, over this many microseconds. */
interface UsageQuery {
  readonly limiter: string | undefined;
  readonly span: number;
  readonly summaryOnly: boolean;
}

/** The stored data of a limiter: its series, and its record for each day of the span, undefined if there is none. */
interface StoredUsage {
  readonly id: string;
  readonly series: StoredSeries | undefined;
  readonly days: readonly (StoredDay | undefined)[];
}

async function readAll(
  store: CountingStore,
  { limiter, span, summaryOnly }: UsageQuery,
): Promise<UsageSummary> {
  const { prefix } = store;
  const [now = 0] = await store.run(readUsageClock, { prefix });
  const unreadable: UnreadableRecord[] = [];
  const readEach = createRecordReader(store.owner as RedisClient, unreadable);
  const days = span > LONG_TERM_MICROS ? spanNumbers(now - span, now, DAY_MICROS) : [];

  /** The limiters of the last day, and of each day of a longer span. */
  async function idsOf(): Promise<readonly string[]> {
    if (limiter !== undefined) return [limiterId(limiter)];
    const [ids = []] = await readEach([usageKey(prefix)], parseUsageIndex);
    const lists = await readEach(
      days.map((day) => dayListKey(prefix, day)),
      parseDayList,
    );
    return [...new Set([...ids, ...lists.flatMap((list) => list ?? [])])];
  }

  async function readKnown(ids: readonly string[]): Promise<readonly StoredUsage[]> {
    const series = await readEach(
      ids.map((id) => seriesKey(prefix, id)),
      parseSeries,
    );
    const keys = ids.flatMap((id) => days.map((day) => dayKey(prefix, id, day)));
    const records = await readEach(keys, (text, i) => parseDay(text, days[i % days.length] ?? 0));
    const known = ids.map((id, i): StoredUsage => {
      const ofDays = records.slice(i * days.length, (i + 1) * days.length);
      return { id, series: series[i], days: ofDays };
    });
    return known.filter((one) => one.series !== undefined || one.days.some(isDefined));
  }

  const known = await readKnown(await idsOf());
  const [others] = limiter === undefined ? await readKnown([OTHER_LIMITERS]) : [];
  const numbers = {
    at: Math.floor(now / 1_000),
    ...(others === undefined ? {} : { others: seriesOf(others, now, span) }),
    unreadable,
  };
  if (summaryOnly) {
    const limiters = known.map((one) => ({ name: nameOf(one), ...seriesOf(one, now, span) }));
    return { ...numbers, limiters: limiters.sort(byName) };
  }
  const spans = spanNumbers(now - Math.min(span, LONG_TERM_MICROS), now, TEN_MINUTES_MICROS).slice(
    -TEN_MINUTES_KEPT - 1,
  );
  const keysOf = (key: typeof topSubjectsKey): string[] =>
    known.flatMap(({ id }) => spans.map((number) => key(prefix, id, number)));
  const tops = await readEach(keysOf(topSubjectsKey), parseTopSubjects);
  const limits = days.length > 0 ? [] : await readEach(keysOf(denialsKey), parseLimits);
  const from = ((spans[0] as number) * TEN_MINUTES_MICROS) / 1_000;
  const limiters = known.map((one, i): LimiterUsage => {
    const own = <Kept>(all: readonly Kept[]): readonly Kept[] =>
      all.slice(i * spans.length, (i + 1) * spans.length);
    return {
      name: nameOf(one),
      ...seriesOf(one, now, span),
      subjects: subjectsOf(own(tops), from),
      limits:
        days.length > 0 ? limitsOf(one, days) : mergeDenials(own(limits).filter(isDefined), from),
    };
  });
  return { ...numbers, limiters: limiters.sort(byName) };
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}

function nameOf({ series, days }: StoredUsage): string {
  return series?.name ?? days.find(isDefined)?.name ?? "";
}

function isDefined<Kept>(one: Kept | undefined): one is Kept {
  return one !== undefined;
}

/** The numbers, since the epoch, of the spans of a length between two times. */
function spanNumbers(from: number, to: number, length: number): number[] {
  const first = Math.floor(from / length);
  return Array.from({ length: Math.floor(to / length) - first + 1 }, (_, i) => first + i);
}

/** Whole spans: the one in which the time begins is not part of the total. */
function seriesOf({ series, days }: StoredUsage, now: number, span: number): UsageSeries {
  const since = (spans: readonly UsageSpan[] = [], past: number): UsageSpan[] =>
    spans.filter(({ from }) => from * 1_000 > now - past);
  const recent = since(series?.tenSeconds, SHORT_SPANS_MICROS);
  const day = since(series?.tenMinutes, LONG_TERM_MICROS);
  if (span > LONG_TERM_MICROS) {
    const whole = days.flatMap((one) => one?.hours ?? []);
    const hours = hoursAfter(whole, day, now - span);
    return { total: sumSpans(hours), tenSeconds: recent, tenMinutes: day, hours };
  }
  const total = sumSpans(span <= SHORT_SPANS_MICROS ? since(recent, span) : since(day, span));
  return { total, tenSeconds: recent, tenMinutes: day, hours: [] };
}

function limitsOf({ days }: StoredUsage, [first = 0]: readonly number[]): DenialsByLimit {
  const kept = days.map((day): StoredDenials => day?.denialsByLimit ?? {});
  return mergeDenials(kept, (first * DAY_MICROS) / 1_000);
}

function subjectsOf(kept: readonly (StoredTopSubjects | undefined)[], from: number): SubjectUsage {
  const tops = kept.filter(isDefined);
  return {
    from,
    used: mergeTopSubjects(tops.map(({ used }) => used)),
    denied: mergeTopSubjects(tops.map(({ denied }) => denied)),
  };
}
