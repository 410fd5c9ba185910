import { formatReceived, HeadgateError } from "../base/errors.ts";
import { rejectUnknownOptions } from "../base/options.ts";
import type { Duration } from "../base/time.ts";
import { parseDuration } from "../base/time.ts";
import { limiterId } from "../fleet/usage/limiter-usage.ts";
import type { KeptSeries, KeptTops, UsageSpan } from "../fleet/usage/read-records.ts";
import { readSeries, readTops, readUsageIndex } from "../fleet/usage/read-records.ts";
import {
  LONG_PLACES,
  LONG_SPAN,
  OTHERS,
  readUsageClock,
  SHORT_PLACES,
  SHORT_SPAN,
  seriesKey,
  topsKey,
  usageKey,
} from "../fleet/usage/steps.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { Store } from "../store/store.ts";
import { gatherTops, totalOf } from "./gather-usage.ts";
import type { SourceOptions, UnreadRecord } from "./operated-source.ts";
import { eachReader, readFrom } from "./operated-source.ts";
import type { LimiterUsage, Usage, UsageSeries, UsageSubjects } from "./usage.ts";

/** Options of `readUsage`. */
export interface ReadUsageOptions extends SourceOptions {
  /** The name of the only limiter to read. Default: all. */
  readonly limiter?: string | undefined;
  /** The time that totals and subjects cover: the last 10 seconds to 24 hours. Default one hour. */
  readonly span?: Duration | undefined;
}

/** Microseconds: the longest span of which every ten seconds are known, and the shortest and the longest of all. */
const HOUR = SHORT_PLACES * SHORT_SPAN;
const SHORTEST = SHORT_SPAN;
const LONGEST = LONG_PLACES * LONG_SPAN;

/**
 * Reads what limiters decided, and which subjects asked most, from the usage of a store in Redis or a Redis client. Rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_CLIENT`, and with the store's errors.
 */
export async function readUsage(
  source: Store | RedisClient,
  options: ReadUsageOptions = {},
): Promise<Usage> {
  rejectUnknownOptions("readUsage", options, ["prefix", "timeout", "limiter", "span"]);
  const { limiter } = options;
  if (limiter !== undefined && (typeof limiter !== "string" || limiter === "")) {
    throw invalid(`limiter must be the name of a limiter, got ${formatReceived(limiter)}`);
  }
  const span = readSpan(options.span ?? "1h");
  return readFrom("readUsage", source, options, (store) => readAll(store, limiter, span));
}

function readSpan(given: Duration): number {
  const span = parseDuration(given, "span", "HEADGATE_INVALID_OPTION");
  if (span >= SHORTEST && span <= LONGEST) return span;
  throw invalid(`span must be from 10 seconds to 24 hours, got ${formatReceived(given)}`);
}

async function readAll(store: Store, limiter: string | undefined, span: number): Promise<Usage> {
  const { prefix } = store;
  const client = store.owner as RedisClient;
  const [now = 0] = await store.run(readUsageClock, { prefix });
  const unread: UnreadRecord[] = [];

  const readEach = eachReader(client, unread);

  async function idsOf(): Promise<readonly string[]> {
    if (limiter !== undefined) return [limiterId(limiter)];
    const [ids = []] = await readEach([usageKey(prefix)], readUsageIndex);
    return ids;
  }

  const listed = await idsOf();
  const keys = listed.map((id) => seriesKey(prefix, id));
  const series = await readEach(keys, readSeries);
  const known = listed.flatMap((id, i) => {
    const kept = series[i];
    return kept === undefined ? [] : [{ id, kept }];
  });
  const [others] =
    limiter === undefined ? await readEach([seriesKey(prefix, OTHERS)], readSeries) : [];
  const spans = spansSince(now - span, now);
  const topKeys = known.flatMap(({ id }) => spans.map((number) => topsKey(prefix, id, number)));
  const tops = await readEach(topKeys, readTops);
  const from = ((spans[0] as number) * LONG_SPAN) / 1_000;
  const limiters = known.map(({ kept }, i): LimiterUsage => {
    const own = tops.slice(i * spans.length, (i + 1) * spans.length);
    return { name: kept.name, ...seriesOf(kept, now, span), subjects: subjectsOf(own, from) };
  });
  return {
    at: Math.floor(now / 1_000),
    limiters: limiters.sort((one, other) => (one.name < other.name ? -1 : 1)),
    ...(others === undefined ? {} : { others: seriesOf(others, now, span) }),
    unread,
  };
}

/** The numbers of the ten minutes from one time to another, which are as many as are kept at most. */
function spansSince(from: number, to: number): number[] {
  const last = Math.floor(to / LONG_SPAN);
  const first = Math.max(Math.floor(from / LONG_SPAN), last - LONG_PLACES);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** Whole spans: of the one in which the time began, there is nothing in the total. */
function seriesOf({ tenSeconds, tenMinutes }: KeptSeries, now: number, span: number): UsageSeries {
  const since = (spans: readonly UsageSpan[], past: number): UsageSpan[] =>
    spans.filter(({ from }) => from * 1_000 > now - past);
  const recent = since(tenSeconds, HOUR);
  const day = since(tenMinutes, LONGEST);
  const total = totalOf(span <= HOUR ? since(recent, span) : since(day, span));
  return { total, tenSeconds: recent, tenMinutes: day };
}

function subjectsOf(kept: readonly (KeptTops | undefined)[], from: number): UsageSubjects {
  const tops = kept.filter((one) => one !== undefined);
  return {
    from,
    used: gatherTops(tops.map(({ used }) => used)),
    denied: gatherTops(tops.map(({ denied }) => denied)),
  };
}

function invalid(message: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `readUsage: ${message}`);
}
