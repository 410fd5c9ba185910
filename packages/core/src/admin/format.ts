import { isCalendarWindow } from "../algorithms/calendar.ts";
import type { Limit } from "../common/policy.ts";
import type { Duration } from "../common/time.ts";
import { isPlainObject } from "../common/type-guards.ts";
import type { LogEntry } from "../control/log-entry.ts";

/** How a tool formats policies. */
export interface FormatLimitOptions {
  /** A length of time: `1m`, `15 minutes`. */
  readonly formatDuration: (duration: Duration) => string;
  /** The length of a window, after "per": `1m`, `minute`. */
  readonly formatWindow: (duration: Duration) => string;
  /** Follows the numbers of a limit without `per`: `" for each client"`, or nothing. */
  readonly defaultSuffix: string;
}

type Block = NonNullable<Exclude<Limit, { algorithm: "concurrency" }>["block"]>;

/** Formats a limit, as in `login: 5 per 15 minutes for each account, blocks for 1 hour (slidingLog)`. */
export function formatLimit(limit: Limit, format: FormatLimitOptions): string {
  const name = limit.name === undefined ? "" : `${limit.name}: `;
  const numbers = `${formatNumbers(limit, format)}${formatDimension(limit, format)}`;
  return `${name}${[numbers, ...formatDetails(limit, format)].join(", ")} (${limit.algorithm})`;
}

function formatNumbers(limit: Limit, { formatWindow }: FormatLimitOptions): string {
  switch (limit.algorithm) {
    case "tokenBucket":
      return `${limit.capacity} at once, ${limit.refill} more every ${formatWindow(limit.every)}`;
    case "concurrency":
      return `${limit.limit} at a time`;
    case "fixedWindow":
      return isCalendarWindow(limit.window)
        ? `${limit.limit} per calendar ${limit.window}`
        : `${limit.limit} per ${formatWindow(limit.window)}`;
    default:
      return `${limit.limit} per ${formatWindow(limit.window)}`;
  }
}

function formatDimension(
  { per = "default" }: Limit,
  { defaultSuffix }: FormatLimitOptions,
): string {
  if (per === "default") return defaultSuffix;
  return per === "global" ? " for all together" : ` for each ${per}`;
}

function formatDetails(limit: Limit, format: FormatLimitOptions): readonly string[] {
  const details: string[] = [];
  if (limit.algorithm === "gcra" && limit.burst !== undefined) details.push(`burst ${limit.burst}`);
  if (limit.algorithm === "fixedWindow") {
    if (limit.align === "clock") details.push("by the clock");
    if (limit.timeZone !== undefined) details.push(limit.timeZone);
  }
  if (limit.algorithm === "concurrency") return details;
  if (limit.block !== undefined) details.push(formatBlock(limit.block, format));
  if (limit.notifyAt !== undefined) {
    details.push(`notifies at ${limit.notifyAt.map(formatShare).join(", ")}`);
  }
  return details;
}

function formatBlock(block: Block, format: FormatLimitOptions): string {
  return typeof block === "object" && "after" in block
    ? `${formatBlock(block.for, format)} after ${block.after} denials`
    : `blocks for ${formatDurations(block, format)}`;
}

/** The defaults of a breaker's options. */
const DEFAULTS = {
  window: "5m",
  minimumSuccessRate: 0.5,
  openFor: "30s",
  trialCalls: 5,
  slowCallRate: 1,
} as const;

/**
 * Formats the policy of a breaker from the options in the registry, which may have any type, as in `opens below 50 % success of
 * at least 20 calls in 5 minutes, for 30 seconds; 5 trial calls`.
 */
export function formatBreakerOptions(
  options: Readonly<Record<string, unknown>>,
  format: FormatLimitOptions,
): string {
  try {
    return formatOpening(options, format);
  } catch {
    return "its options cannot be read";
  }
}

/** Throws for options that no breaker has. */
function formatOpening(
  options: Readonly<Record<string, unknown>>,
  format: FormatLimitOptions,
): string {
  const { window, minimumSuccessRate, minimumCalls, slowCall, slowCallRate, openFor, trialCalls } =
    {
      ...DEFAULTS,
      ...options,
    } as Readonly<Record<string, unknown>>;
  const calls = windowCallsOf(window);
  const least = minimumCalls ?? Math.min(20, calls ?? 20);
  const among =
    calls === undefined ? `in ${formatDurations(window, format)}` : `among the last ${calls}`;
  const slow =
    slowCall === undefined
      ? ""
      : `, or if ${formatShare(slowCallRate)} are slower than ${formatDurations(slowCall, format)}`;
  return `opens below ${formatShare(minimumSuccessRate)} success of at least ${least} calls ${among}${slow}, for ${formatDurations(openFor, format)}; ${trialCalls} trial calls`;
}

function windowCallsOf(window: unknown): number | undefined {
  if (typeof window !== "object" || window === null) return undefined;
  return (window as { readonly calls?: number }).calls;
}

/** At most two decimals. */
function formatShare(share: unknown): string {
  return `${Number((Number(share) * 100).toFixed(2))} %`;
}

/** A duration, or several in a row: of many, the first ones and the last. */
function formatDurations(times: unknown, { formatDuration }: FormatLimitOptions): string {
  const all = [times].flat().map((time) => formatDuration(time as Duration));
  const shown = all.length > 5 ? [...all.slice(0, 3), `… ${all.at(-1)}`] : all;
  return shown.join(", then ");
}

/** Formats the operator of an entry: the name, and the Redis user unless it is `default`. The log may hold values of any type. */
export function formatActor(entry: Pick<LogEntry, "by" | "aclUser">): string {
  const [by, user] = [textOf(entry.by), textOf(entry.aclUser)];
  if (user === "" || user === "default" || user === by) return by;
  return by === "" ? user : `${by} (${user})`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Formats a subject by dimension as one text, the default dimension without its name; `allSubjects` if there is no subject. */
export function formatSubject(subject: LogEntry["subject"], allSubjects: string): string {
  if (subject === undefined) return allSubjects;
  const entries = Object.entries(subject);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === "default") return first[1];
  return entries.map(([per, text]) => `${per}=${text}`).join(" ");
}

/**
 * Formats the limits of an override, also from an entry of the log, which may hold values of any type:
 * `100-per-1m: limit 500, burst 50; in shadow mode`.
 */
export function formatOverride(override: unknown): string {
  const { limits, shadow } = fieldsOf(override);
  const numbers = Object.entries(fieldsOf(limits)).map(([name, given]) => {
    const written = Object.entries(fieldsOf(given)).map(
      ([what, number]) => `${what} ${formatLogValue(number)}`,
    );
    return `${name}: ${written.join(", ")}`;
  });
  if (typeof shadow !== "boolean") return numbers.join("; ");
  return [...numbers, shadow ? "in shadow mode" : "not in shadow mode"].join("; ");
}

/** A text or a number of the log; `?` for anything else, of which the log may hold what cannot even be written. */
export function formatLogValue(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "?";
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isPlainObject(value) ? value : {};
}
