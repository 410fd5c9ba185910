import { isIP } from "node:net";
import { isCalendarWindow } from "../algorithms/calendar.ts";
import { compilePolicy } from "../algorithms/compile-policy.ts";
import type { Limit, Policy } from "../common/policy.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import { parseDuration } from "../common/time.ts";
import { incompatibilityOf } from "../control/apply-override.ts";
import type { Override } from "../control/record.ts";
import { addressSubject, DEFAULT_IPV6_PREFIX } from "../net/client-address.ts";
import { createNetworkTest, parseNetwork } from "../net/network.ts";
import { GLOBAL_SUBJECT } from "../policy/counters.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { Store } from "../store/store.ts";
import { hashSubject } from "../usage/top-subjects.ts";
import { lastMinuteOf, requestsOf, splitByLastMinute } from "./last-minute.ts";
import type { ReadUsageOptions } from "./read-usage.ts";
import { readUsage } from "./read-usage.ts";
import type { LimiterUsage, TopList, TopSubject, Usage } from "./usage.ts";

/**
 * Usage from which the sentences below say whom an action would affect. Its lists have the busiest clients only, so a number of
 * clients or requests is the least that is certain, unless the sentence says otherwise.
 */
export interface RecentUsage {
  /** The clients that count as active. */
  readonly hour: Usage;
  /** The last 4 to 14 minutes, for rates: an hour would hide what began a while ago. Steps of ten seconds are kept for longer. */
  readonly recent: Usage;
}

/** Reads the usage of a limiter, or of all. Rejects like `readUsage`. */
export async function readRecentUsage(
  source: Store | RedisClient,
  options: Pick<ReadUsageOptions, "prefix" | "timeout" | "limiter"> = {},
): Promise<RecentUsage> {
  const [hour, recent] = await Promise.all([
    readUsage(source, { ...options, span: "1h" }),
    readUsage(source, { ...options, span: "4m" }),
  ]);
  return { hour, recent };
}

/** The requests that a block of a subject would deny, as a sentence. `usage` is undefined if it could not be read. */
export function formatBlockImpact(
  usage: RecentUsage | undefined,
  limiter: string,
  subject: Readonly<Record<string, string>>,
): string {
  const one = usage?.recent.limiters.find(({ name }) => name === limiter);
  if (usage === undefined || one === undefined) return unknownRequests(usage);
  const { used, denied, from } = one.subjects;
  const minutes = minutesSince(from, usage.recent);
  const since = `in the last ${formatMinutes(minutes)}`;
  const requests = countOf(used, subject);
  if (requests === undefined) {
    const most =
      used.maxUnlisted === 0 ? "no request" : `at most ${formatRequests(used.maxUnlisted)}`;
    return `It sent ${most} ${since}.`;
  }
  const perMinute = requests / minutes;
  const already = countOf(denied, subject) ?? 0;
  const part = already === 0 ? "" : `, of which ${formatRate(already / minutes)} were denied`;
  const newest = formatNewest(
    countOf(lastMinuteOf(one, usage.recent).subjects.used, subject),
    perMinute,
  );
  const surge = newest === "" ? formatSurge(one, usage.recent) : "";
  return `It sent ${formatRequests(perMinute)} a minute ${since}${part}${newest}.${surge}`;
}

/** The active clients that are in a network, and their requests, as a sentence: whom an entry of the deny list would deny. */
export function formatDenyListImpact(usage: RecentUsage | undefined, network: string): string {
  if (usage === undefined || usage.hour.limiters.length === 0) {
    return `How many active clients are in it is not known: ${formatReason(usage)}.`;
  }
  const read = (one: Usage) => countsIn(one, network);
  const [hour, recent] = [read(usage.hour), read(usage.recent)];
  const { size } = hour.inNetwork;
  if (size === 0 && hour.addresses === 0) {
    return 'How many active clients are in it is not known: usage lists no addresses. It stores hashes unless it has subjects: "plain", and limiters may count by something else.';
  }
  if (size === 0) {
    return hour.isComplete
      ? "No client of the last hour is in it."
      : "None of the busiest clients of the last hour is in it; there may be others.";
  }
  const minutes = minutesSince(usage.recent.limiters[0]?.subjects.from, usage.recent);
  const perMinute = sum(recent.inNetwork.values()) / minutes;
  const inLastMinute = [...recent.byLimiter].map(
    ([limiter, count]) => count - requestsOf(splitByLastMinute(limiter, usage.recent).mostOlder),
  );
  const newest = formatNewest(Math.max(...inLastMinute), perMinute);
  const least = hour.isComplete ? "" : "At least ";
  const names = [...hour.inNetwork.keys()].slice(0, MAX_NAMED).join(", ");
  const more = size > MAX_NAMED ? `, and ${size - MAX_NAMED} more` : "";
  const clients = `${least}${size} ${size === 1 ? "client" : "clients"} of the last hour`;
  return `${clients} ${size === 1 ? "is" : "are"} in it (${names}${more}), with ${formatRequests(perMinute)} a minute in the last ${formatMinutes(minutes)}${newest}.`;
}

type OverrideChange = Pick<Override, "limiter" | "subject" | "limits" | "shadow">;

/**
 * The active clients whose requests an override would deny, and how many, as sentences. `policies` are those of the limiter; the
 * first that the override fits counts. Clients that `others`, the overrides in force, give limits of their own do not count. A
 * request is taken to cost one unit.
 */
export function formatOverrideImpact(
  usage: RecentUsage | undefined,
  policies: readonly Policy[],
  { limiter, subject, limits, shadow }: OverrideChange,
  others: readonly OverrideChange[],
): readonly string[] {
  const find = (one: Usage | undefined) => one?.limiters.find(({ name }) => name === limiter);
  const [hour, recent] = [find(usage?.hour), find(usage?.recent)];
  if (usage === undefined || hour === undefined || recent === undefined) {
    return [unknownRequests(usage)];
  }
  const lastMinute = lastMinuteOf(recent, usage.recent);
  const deniedIn = ({ total, subjects }: LimiterUsage): number =>
    (subject === undefined ? total.denied : countOf(subjects.denied, subject)) ?? 0;
  const ofMinutes =
    subject === undefined ? RECENT_MINUTES : minutesSince(recent.subjects.from, usage.recent);
  const perMinute = deniedIn(recent) / ofMinutes;
  const newest = formatNewest(deniedIn(lastMinute), perMinute);
  const now = `${formatRequests(perMinute)} a minute in the last ${formatMinutes(ofMinutes)}${newest}`;
  if (shadow === true) return [`It denies no request. Its limits denied ${now}.`];
  const enforced = shadow === false ? "Outside of shadow mode, these get denied. " : "";
  const policy = policies.find((one) => incompatibilityOf(one, { limits, subject }) === undefined);
  if (limits === undefined || policy === undefined) {
    return [`Its limits denied ${now}. ${enforced}`.trim()];
  }
  const changed = compilePolicy(policy).map(({ name, source }) => ({
    ...source,
    ...(Object.hasOwn(limits, name) ? limits[name] : undefined),
  })) as readonly Limit[];
  const isAsked = (one: TopSubject): boolean =>
    subject !== undefined
      ? isSubject(one, subject)
      : !others.some(
          (other) =>
            other.limiter === limiter &&
            other.limits !== undefined &&
            isSubject(one, other.subject),
        );
  const excess = [
    excessOf(hour, usage.hour, HOUR_MINUTES, changed, isAsked),
    excessOf(recent, usage.recent, RECENT_MINUTES, changed, isAsked),
    excessOf(lastMinute, usage.recent, 1, changed, isAsked),
  ];
  const clients = Math.max(...excess.map((one) => one.clients));
  const rate = Math.max(...excess.map((one) => one.perMinute));
  return [formatExcess(clients, rate, subject), `Its limits denied ${now}. ${enforced}`.trim()];
}

function formatExcess(clients: number, perMinute: number, subject: Override["subject"]): string {
  if (perMinute === 0) {
    const who = subject === undefined ? "No listed client" : "It never";
    return `${who} sent more than the new limits allow on average in the last hour; bursts may still be denied.`;
  }
  const noun = clients === 1 ? "client" : "clients";
  const who =
    clients === 0 || subject !== undefined ? "" : `, of at least ${clients} active ${noun}`;
  return `The new limits would deny at least ${formatRequests(perMinute)} a minute${who}, if each costs 1.`;
}

/** The clients that a sentence names. */
const MAX_NAMED = 3;

/** The spans of usage. Its lists go back up to ten minutes more. */
const HOUR_MINUTES = 60;
const RECENT_MINUTES = 4;

/** Why something is not known. */
function formatReason(usage: RecentUsage | undefined): string {
  return usage === undefined ? "usage could not be read" : "no usage is recorded";
}

function unknownRequests(usage: RecentUsage | undefined): string {
  return `How many requests it would deny is not known: ${formatReason(usage)}.`;
}

/** By how much the requests of all clients must have grown in the last minute to be worth a sentence. */
const SURGE = 1.5;

/** The part of a sentence about the last minute; empty if it was not certainly busier than the average. */
function formatNewest(atLeast: number | undefined, perMinute: number): string {
  return atLeast !== undefined && atLeast > perMinute
    ? `, and at least ${formatRate(atLeast)} in the last one`
    : "";
}

/** A sentence that the average of one client may hide what began a moment ago, because all clients together sent more; else empty. */
function formatSurge(one: LimiterUsage, usage: Usage): string {
  const { from, before, since } = splitByLastMinute(one, usage);
  const earlier = (requestsOf(before) * 60_000) / (from - one.subjects.from);
  const now = (requestsOf(since) * 60_000) / (usage.at - from);
  return now > SURGE * earlier
    ? ` All clients together sent ${formatRate(now)} in the last minute and ${formatRate(earlier)} a minute before, so its own may have grown.`
    : "";
}

function minutesSince(from: number | undefined, { at }: Usage): number {
  return Math.max(1, (at - (from ?? at)) / 60_000);
}

function formatMinutes(minutes: number): string {
  const whole = Math.round(minutes);
  return whole === 1 ? "minute" : `${whole} minutes`;
}

function formatRequests(perMinute: number): string {
  const rate = formatRate(perMinute);
  return `${rate} ${rate === "1" ? "request" : "requests"}`;
}

/** A rate: a whole number from 10, one decimal below that, and one digit that is not 0 below 0.1: `42`, `4.2`, `0.03`. */
function formatRate(perMinute: number): string {
  if (perMinute >= 10) return String(Math.round(perMinute));
  return perMinute >= 0.1 || perMinute === 0
    ? String(Math.round(perMinute * 10) / 10)
    : String(Number(perMinute.toPrecision(1)));
}

/** The decisions about a subject in a list: in any of its dimensions; undefined if the list does not have it. */
function countOf({ top }: TopList, subject: Readonly<Record<string, string>>): number | undefined {
  const counts = top.filter((one) => isSubject(one, subject)).map(({ count }) => count);
  return counts.length === 0 ? undefined : Math.max(...counts);
}

function isSubject(
  { dimension, subject: text, hash }: TopSubject,
  subject: Readonly<Record<string, string>> = {},
): boolean {
  const own = Object.hasOwn(subject, dimension) ? subject[dimension] : undefined;
  return own !== undefined && (own === text || hashSubject(own) === hash);
}

interface NetworkCounts {
  /** The decisions about each client in the network: the most of any limiter, as a request may pass several. */
  readonly inNetwork: ReadonlyMap<string, number>;
  /** Their decisions together in each limiter: in the dimension with the most, as a request counts in every dimension. */
  readonly byLimiter: ReadonlyMap<LimiterUsage, number>;
  /** The number of listed subjects that are addresses. */
  readonly addresses: number;
  /** Whether the lists have every subject, and none as a hash. */
  readonly isComplete: boolean;
}

function countsIn({ limiters }: Usage, network: string): NetworkCounts {
  const isInEntry = networkTestOf(network);
  const [entry = ""] = network.split("/");
  // The subject of a single address is known, also as a hash; an IPv6 client counts as its network.
  const alone = isInEntry === undefined ? entry : addressSubject(entry, DEFAULT_IPV6_PREFIX);
  const hash = network.includes("/") ? undefined : hashSubject(alone);
  const inNetwork = new Map<string, number>();
  const byLimiter = new Map<LimiterUsage, number>();
  let addresses = 0;
  let isComplete = true;
  for (const limiter of limiters) {
    const { top, maxUnlisted } = limiter.subjects.used;
    const byDimension = new Map<string, number>();
    isComplete &&= maxUnlisted === 0;
    for (const one of top) {
      const text =
        one.hash !== undefined && one.hash === hash ? alone : one.subject?.replace(/^ip:/, "");
      const address = text?.split("/")[0] ?? "";
      if (isIP(address) === 0) {
        isComplete &&= one.hash === undefined;
        continue;
      }
      addresses += 1;
      const overlaps = isInEntry?.(address) === true || networkTestOf(text)?.(entry) === true;
      if (!overlaps) continue;
      inNetwork.set(text ?? "", Math.max(one.count, inNetwork.get(text ?? "") ?? 0));
      byDimension.set(one.dimension, one.count + (byDimension.get(one.dimension) ?? 0));
    }
    byLimiter.set(limiter, Math.max(0, ...byDimension.values()));
  }
  return { inNetwork, byLimiter, addresses, isComplete };
}

function networkTestOf(text: string | undefined): ((address: string) => boolean) | undefined {
  const network = parseNetwork(text);
  return network && createNetworkTest([network]);
}

interface Excess {
  readonly clients: number;
  readonly perMinute: number;
}

/**
 * The requests of some subjects beyond what limits can have admitted: in the time of a list, and for `global` in the span of
 * the usage.
 */
function excessOf(
  { subjects, total }: LimiterUsage,
  usage: Usage,
  spanMinutes: number,
  limits: readonly Limit[],
  isAsked: (one: TopSubject) => boolean,
): Excess {
  // The lists do not have the only subject of `global`.
  const everybody = { dimension: GLOBAL_DIMENSION, subject: GLOBAL_SUBJECT, error: 0 };
  const ofAll = [{ ...everybody, count: total.allowed + total.denied }];
  const rates = [...new Set(limits.map(({ per = "default" }) => per))].map((dimension): Excess => {
    const isGlobal = dimension === GLOBAL_DIMENSION;
    const minutes = isGlobal ? spanMinutes : minutesSince(subjects.from, usage);
    const own = limits.filter(({ per = "default" }) => per === dimension);
    const most = Math.min(...own.map((limit) => mostAdmitted(limit, minutes)));
    const beyond = (isGlobal ? ofAll : subjects.used.top)
      .filter((one) => one.dimension === dimension && isAsked(one))
      .map(({ count }) => count - most)
      .filter((count) => count > 0);
    return { clients: isGlobal ? 0 : beyond.length, perMinute: sum(beyond) / minutes };
  });
  // A request counts in every dimension.
  return {
    clients: Math.max(...rates.map(({ clients }) => clients)),
    perMinute: Math.max(...rates.map(({ perMinute }) => perMinute)),
  };
}

/** The most units that a limit grants a subject in some minutes; infinite for slots, which depend on how long requests take. */
function mostAdmitted(limit: Limit, minutes: number): number {
  const ms = minutes * 60_000;
  const windowsOf = (text: unknown): number =>
    ms / (parseDuration(text, "window", "HEADGATE_INVALID_LIMIT") / 1_000);
  switch (limit.algorithm) {
    case "gcra":
      return (limit.burst ?? limit.limit) + limit.limit * windowsOf(limit.window);
    case "tokenBucket":
      return limit.capacity + limit.refill * windowsOf(limit.every);
    case "fixedWindow":
      // A calendar window is longer than the time of any list.
      return (
        limit.limit * (isCalendarWindow(limit.window) ? 2 : Math.ceil(windowsOf(limit.window)) + 1)
      );
    case "concurrency":
      return Number.POSITIVE_INFINITY;
    default:
      return limit.limit * Math.ceil(windowsOf(limit.window));
  }
}

function sum(numbers: Iterable<number>): number {
  let all = 0;
  for (const one of numbers) all += one;
  return all;
}
