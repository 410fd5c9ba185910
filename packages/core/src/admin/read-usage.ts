import { invalidValue } from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration } from "../common/time.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { CountingStore, Store } from "../store/store.ts";
import type {
  KeptDay,
  KeptLimits,
  KeptSeries,
  KeptTops,
  UsageSpan,
} from "../usage/read-records.ts";
import {
  readDay,
  readDayList,
  readLimits,
  readSeries,
  readTops,
  readUsageIndex,
} from "../usage/read-records.ts";
import {
  DAY_SPAN,
  dayKey,
  dayListKey,
  LONG_PLACES,
  LONG_SPAN,
  LONGEST_SPAN,
  limitsKey,
  OTHERS,
  readUsageClock,
  SHORT_PLACES,
  SHORT_SPAN,
  seriesKey,
  topsKey,
  usageKey,
} from "../usage/steps.ts";
import { limiterId } from "../usage/usage-counter.ts";
import type { SourceOptions, UnreadRecord } from "./admin-source.ts";
import { eachReader, readFrom } from "./admin-source.ts";
import { gatherLimits, gatherTops, hoursAfter, totalOf } from "./gather-usage.ts";
import type {
  LimiterUsage,
  Usage,
  UsageLimits,
  UsageNumbers,
  UsageSeries,
  UsageSubjects,
} from "./usage.ts";

/** Options of `readUsage`. */
export interface ReadUsageOptions extends SourceOptions {
  /** The name of the only limiter to read. Default: all. */
  readonly limiter?: string | undefined;
  /** The time that totals, subjects and limits cover: the last 10 seconds to 30 days. Default one hour. */
  readonly span?: Duration | undefined;
  /** Whether to leave out subjects and denials by limit, which are most of what is read. Default false. */
  readonly numbersOnly?: boolean | undefined;
}

/**
 * Microseconds: the longest span with data for every ten seconds, the longest with data for every ten minutes, and the shortest
 * span.
 */
const HOUR = SHORT_PLACES * SHORT_SPAN;
const DAY = LONG_PLACES * LONG_SPAN;
const SHORTEST = SHORT_SPAN;

/**
 * Reads what limiters decided, and which subjects asked most, from the usage in a store in Redis or through a Redis client.
 * Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_CLIENT`, and with the store's errors.
 */
export function readUsage(
  source: Store | RedisClient,
  options: ReadUsageOptions & { readonly numbersOnly: true },
): Promise<UsageNumbers>;
export function readUsage(source: Store | RedisClient, options?: ReadUsageOptions): Promise<Usage>;
export async function readUsage(
  source: Store | RedisClient,
  options: ReadUsageOptions = {},
): Promise<UsageNumbers> {
  const known = ["prefix", "timeout", "limiter", "span", "numbersOnly"];
  rejectUnknownOptions("readUsage", options, known);
  const { limiter } = options;
  if (limiter !== undefined && (typeof limiter !== "string" || limiter === "")) {
    throw invalidValue("readUsage: limiter must be the name of a limiter", limiter);
  }
  const numbersOnly = readBoolean("readUsage: numbersOnly", options.numbersOnly);
  const span = readSpan(options.span ?? "1h");
  return readFrom("readUsage", source, options, (store) =>
    readAll(store, { limiter, span, numbersOnly }),
  );
}

function readSpan(given: Duration): number {
  const span = parseDuration(given, "span", "HEADGATE_INVALID_OPTION");
  if (span >= SHORTEST && span <= LONGEST_SPAN) return span;
  throw invalidValue("readUsage: span must be from 10 seconds to 30 days", given);
}

/** What to read: one limiter or all, over this many microseconds. */
interface Question {
  readonly limiter: string | undefined;
  readonly span: number;
  readonly numbersOnly: boolean;
}

/** The stored data of a limiter: its series, and its record for each day of the span, undefined if there is none. */
interface Known {
  readonly id: string;
  readonly kept: KeptSeries | undefined;
  readonly days: readonly (KeptDay | undefined)[];
}

async function readAll(
  store: CountingStore,
  { limiter, span, numbersOnly }: Question,
): Promise<UsageNumbers> {
  const { prefix } = store;
  const [now = 0] = await store.run(readUsageClock, { prefix });
  const unread: UnreadRecord[] = [];
  const readEach = eachReader(store.owner as RedisClient, unread);
  const days = span > DAY ? numbersSince(now - span, now, DAY_SPAN) : [];

  /** The limiters of the last day, and of each day of a longer span. */
  async function idsOf(): Promise<readonly string[]> {
    if (limiter !== undefined) return [limiterId(limiter)];
    const [ids = []] = await readEach([usageKey(prefix)], readUsageIndex);
    const lists = await readEach(
      days.map((day) => dayListKey(prefix, day)),
      readDayList,
    );
    return [...new Set([...ids, ...lists.flatMap((list) => list ?? [])])];
  }

  async function readKnown(ids: readonly string[]): Promise<readonly Known[]> {
    const series = await readEach(
      ids.map((id) => seriesKey(prefix, id)),
      readSeries,
    );
    const keys = ids.flatMap((id) => days.map((day) => dayKey(prefix, id, day)));
    const records = await readEach(keys, (text, i) => readDay(text, days[i % days.length] ?? 0));
    const known = ids.map((id, i): Known => {
      const ofDays = records.slice(i * days.length, (i + 1) * days.length);
      return { id, kept: series[i], days: ofDays };
    });
    return known.filter((one) => one.kept !== undefined || one.days.some(isKept));
  }

  const known = await readKnown(await idsOf());
  const [others] = limiter === undefined ? await readKnown([OTHERS]) : [];
  const numbers = {
    at: Math.floor(now / 1_000),
    ...(others === undefined ? {} : { others: seriesOf(others, now, span) }),
    unread,
  };
  if (numbersOnly) {
    const limiters = known.map((one) => ({ name: nameOf(one), ...seriesOf(one, now, span) }));
    return { ...numbers, limiters: limiters.sort(byName) };
  }
  const spans = numbersSince(now - Math.min(span, DAY), now, LONG_SPAN).slice(-LONG_PLACES - 1);
  const keysOf = (key: typeof topsKey): string[] =>
    known.flatMap(({ id }) => spans.map((number) => key(prefix, id, number)));
  const tops = await readEach(keysOf(topsKey), readTops);
  const limits = days.length > 0 ? [] : await readEach(keysOf(limitsKey), readLimits);
  const from = ((spans[0] as number) * LONG_SPAN) / 1_000;
  const limiters = known.map((one, i): LimiterUsage => {
    const own = <Kept>(all: readonly Kept[]): readonly Kept[] =>
      all.slice(i * spans.length, (i + 1) * spans.length);
    return {
      name: nameOf(one),
      ...seriesOf(one, now, span),
      subjects: subjectsOf(own(tops), from),
      limits:
        days.length > 0 ? limitsOf(one, days) : gatherLimits(own(limits).filter(isKept), from),
    };
  });
  return { ...numbers, limiters: limiters.sort(byName) };
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}

function nameOf({ kept, days }: Known): string {
  return kept?.name ?? days.find(isKept)?.name ?? "";
}

function isKept<Kept>(one: Kept | undefined): one is Kept {
  return one !== undefined;
}

/** The numbers, since the epoch, of the spans of a length between two times. */
function numbersSince(from: number, to: number, length: number): number[] {
  const first = Math.floor(from / length);
  return Array.from({ length: Math.floor(to / length) - first + 1 }, (_, i) => first + i);
}

/** Whole spans: the one in which the time begins is not part of the total. */
function seriesOf({ kept, days }: Known, now: number, span: number): UsageSeries {
  const since = (spans: readonly UsageSpan[] = [], past: number): UsageSpan[] =>
    spans.filter(({ from }) => from * 1_000 > now - past);
  const recent = since(kept?.tenSeconds, HOUR);
  const day = since(kept?.tenMinutes, DAY);
  if (span > DAY) {
    const whole = days.flatMap((one) => one?.hours ?? []);
    const hours = hoursAfter(whole, day, now - span);
    return { total: totalOf(hours), tenSeconds: recent, tenMinutes: day, hours };
  }
  const total = totalOf(span <= HOUR ? since(recent, span) : since(day, span));
  return { total, tenSeconds: recent, tenMinutes: day, hours: [] };
}

function limitsOf({ days }: Known, [first = 0]: readonly number[]): UsageLimits {
  const kept = days.map((day): KeptLimits => day?.limits ?? {});
  return gatherLimits(kept, (first * DAY_SPAN) / 1_000);
}

function subjectsOf(kept: readonly (KeptTops | undefined)[], from: number): UsageSubjects {
  const tops = kept.filter(isKept);
  return {
    from,
    used: gatherTops(tops.map(({ used }) => used)),
    denied: gatherTops(tops.map(({ denied }) => denied)),
  };
}
