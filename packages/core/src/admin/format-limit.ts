import { isCalendarWindow } from "../algorithms/calendar.ts";
import type { Limit } from "../common/policy.ts";
import type { Duration } from "../common/time.ts";

/** How a tool words policies. */
export interface Wording {
  /** A length of time: `1m`, `15 minutes`. */
  readonly formatDuration: (duration: Duration) => string;
  /** The length of a window, after "per": `1m`, `minute`. */
  readonly formatPer: (duration: Duration) => string;
  /** Follows the numbers of a limit without `per`: `" for each client"`, or nothing. */
  readonly forEach: string;
}

type Block = NonNullable<Exclude<Limit, { algorithm: "concurrency" }>["block"]>;

/** A limit in words: `login: 5 per 15 minutes for each account, blocks for 1 hour (slidingLog)`. */
export function limitInWords(limit: Limit, wording: Wording): string {
  const name = limit.name === undefined ? "" : `${limit.name}: `;
  const numbers = `${numbersOf(limit, wording)}${whose(limit, wording)}`;
  return `${name}${[numbers, ...detailsOf(limit, wording)].join(", ")} (${limit.algorithm})`;
}

function numbersOf(limit: Limit, { formatPer }: Wording): string {
  switch (limit.algorithm) {
    case "tokenBucket":
      return `${limit.capacity} at once, ${limit.refill} more every ${formatPer(limit.every)}`;
    case "concurrency":
      return `${limit.limit} at a time`;
    case "fixedWindow":
      return isCalendarWindow(limit.window)
        ? `${limit.limit} per calendar ${limit.window}`
        : `${limit.limit} per ${formatPer(limit.window)}`;
    default:
      return `${limit.limit} per ${formatPer(limit.window)}`;
  }
}

function whose({ per = "default" }: Limit, { forEach }: Wording): string {
  if (per === "default") return forEach;
  return per === "global" ? " for all together" : ` for each ${per}`;
}

function detailsOf(limit: Limit, wording: Wording): readonly string[] {
  const details: string[] = [];
  if (limit.algorithm === "gcra" && limit.burst !== undefined) details.push(`burst ${limit.burst}`);
  if (limit.algorithm === "fixedWindow") {
    if (limit.align === "clock") details.push("by the clock");
    if (limit.timeZone !== undefined) details.push(limit.timeZone);
  }
  if (limit.algorithm === "concurrency") return details;
  if (limit.block !== undefined) details.push(blockInWords(limit.block, wording));
  if (limit.notifyAt !== undefined) {
    details.push(`notifies at ${limit.notifyAt.map(formatShare).join(", ")}`);
  }
  return details;
}

function blockInWords(block: Block, wording: Wording): string {
  return typeof block === "object" && "after" in block
    ? `${blockInWords(block.for, wording)} after ${block.after} denials`
    : `blocks for ${timesInWords(block, wording)}`;
}

/** The defaults of a breaker's options. */
const DEFAULTS = {
  window: "5m",
  minimumSuccessRate: 0.5,
  openFor: "30s",
  probes: 5,
  slowCallRate: 1,
} as const;

/**
 * The policy of a breaker in words, by the options that the directory has, which may be of any kind: `opens below 50 % success of
 * at least 20 calls in 5 minutes, for 30 seconds; 5 trial calls`.
 */
export function breakerInWords(
  options: Readonly<Record<string, unknown>>,
  wording: Wording,
): string {
  try {
    return openingInWords(options, wording);
  } catch {
    return "its options cannot be read";
  }
}

/** Throws for options that no breaker has. */
function openingInWords(options: Readonly<Record<string, unknown>>, wording: Wording): string {
  const { window, minimumSuccessRate, minimumCalls, slowCall, slowCallRate, openFor, probes } = {
    ...DEFAULTS,
    ...options,
  } as Readonly<Record<string, unknown>>;
  const calls = callsOf(window);
  const least = minimumCalls ?? Math.min(20, calls ?? 20);
  const among =
    calls === undefined ? `in ${timesInWords(window, wording)}` : `among the last ${calls}`;
  const slow =
    slowCall === undefined
      ? ""
      : `, or if ${formatShare(slowCallRate)} are slower than ${timesInWords(slowCall, wording)}`;
  return `opens below ${formatShare(minimumSuccessRate)} success of at least ${least} calls ${among}${slow}, for ${timesInWords(openFor, wording)}; ${probes} trial calls`;
}

function callsOf(window: unknown): number | undefined {
  if (typeof window !== "object" || window === null) return undefined;
  return (window as { readonly calls?: number }).calls;
}

/** At most two decimals. */
function formatShare(share: unknown): string {
  return `${Number((Number(share) * 100).toFixed(2))} %`;
}

/** A duration, or several in a row: of many, the first ones and the last. */
function timesInWords(times: unknown, { formatDuration }: Wording): string {
  const all = [times].flat().map((time) => formatDuration(time as Duration));
  const shown = all.length > 5 ? [...all.slice(0, 3), `… ${all.at(-1)}`] : all;
  return shown.join(", then ");
}
