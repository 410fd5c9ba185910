import { runList } from "../../store/list-script.ts";
import type { Step } from "../../store/store.ts";
import { clockLua, unlistLua, usageLua } from "./lua.generated.ts";

/** What a process has counted of one limiter since it said so last. */
export interface LimiterCount {
  /** The 16 characters that name it in keys; empty for limiters that are counted together with all others. */
  readonly id: string;
  readonly name: string;
  readonly rows: readonly UsageRow[];
  /** Who asked, and who was denied, as in usage.lua; empty where nobody did. */
  readonly used: string;
  readonly denied: string;
}

/** What was counted in a time. */
export interface UsageRow {
  /** Its middle, in microseconds since the epoch, by the clock of the process. */
  readonly at: number;
  readonly allowed: number;
  readonly denied: number;
  /** Of those, how many were decided without the store. */
  readonly degraded: number;
}

/** What a process adds to usage. */
export interface UsageCall {
  readonly prefix: string;
  /** The name of the process: 16 characters. */
  readonly process: string;
  /** Grows with each call of a process that is not a repeated one. */
  readonly number: number;
  /** The server's clock, as the process takes it to be, in microseconds; and by how much it is ahead of its own. */
  readonly clock: number;
  readonly ahead: number;
  readonly limiters: readonly LimiterCount[];
}

/** What the step says of a call. */
export const USAGE_STATES = {
  known: 0,
  done: 1,
  away: 2,
  otherFormat: 3,
  tooLong: 4,
  wrongType: -1,
} as const;

/** Microseconds of the spans in which usage is kept, and how many there are of each. */
export const SHORT_SPAN = 10_000_000;
export const LONG_SPAN = 600_000_000;
export const SHORT_PLACES = 360;
export const LONG_PLACES = 144;

/** For so many microseconds what was counted is kept after the last change: as long as usage.lua has it. */
export const KEPT = 90_000_000_000;

/** The name of the series of all limiters that have none of their own. */
export const OTHERS = "other";

/** Where the limiters of a prefix that have usage are listed. It is no counter's key: behind the subject those have three parts. */
export function usageKey(prefix: string): string {
  return `${prefix}:{usage}`;
}

/** Where the last number of a process is, by its name. */
function usageProcessKey(prefix: string, process: string): string {
  return `${usageKey(prefix)}:process/${process}`;
}

/** Where the numbers of a limiter are. */
export function seriesKey(prefix: string, id: string): string {
  return `${usageKey(prefix)}:series/${id}`;
}

/** Where its subjects of ten minutes are, by the number of these since the epoch. */
export function topsKey(prefix: string, id: string, span: number): string {
  return `${usageKey(prefix)}:top/${id}/${span}`;
}

/**
 * Adds what a process counted. The reply says what became of the call, as in `USAGE_STATES`, and of each limiter 1 when it was
 * counted, 2 when it was counted among all others, 3 or -1 when something else is in its place, 4 when only its subjects were not counted.
 */
export const addUsage: Step<UsageCall> = {
  ...runList("usage", {
    source: usageLua,
    parameters: ({ number, clock, ahead, limiters }: UsageCall) => [
      number,
      Math.round(clock),
      limiters.length,
      ...limiters.flatMap(({ id, name, rows, used, denied }) => [
        id,
        name,
        rows.map((row) => writeRow(row, ahead)).join("\n"),
        used,
        denied,
      ]),
    ],
    replySize: ({ limiters }) => 1 + limiters.length,
  }),
  keys: ({ prefix, process, clock, limiters }) => [
    usageKey(prefix),
    usageProcessKey(prefix, process),
    seriesKey(prefix, OTHERS),
    ...limiters.flatMap(({ id }) => [
      seriesKey(prefix, id || OTHERS),
      topsKey(prefix, id || OTHERS, Math.floor(clock / LONG_SPAN)),
    ]),
  ],
  // Each goes alone.
  weight: () => 256,
  // Nobody else sees the memory of this process.
  twin: ({ limiters }, _, { now }) => [now, USAGE_STATES.done, ...limiters.map(() => 1)],
};

function writeRow({ at, allowed, denied, degraded }: UsageRow, ahead: number): string {
  return `${Math.floor((at + ahead) / SHORT_SPAN)} ${allowed} ${denied} ${degraded}`;
}

/** Reads the clock of the server that keeps usage. */
export const readUsageClock: Step<{ readonly prefix: string }> = {
  ...runList("read-clock", {
    source: clockLua,
    parameters: () => [],
    replySize: () => 1,
  }),
  keys: ({ prefix }) => [usageKey(prefix)],
  weight: () => 1,
  twin: (_, __, { now }) => [now, 0],
};

/** Subjects to be erased from lists of a limiter. */
export interface UnlistCall {
  readonly prefix: string;
  /** The characters that name the limiter in keys. */
  readonly id: string;
  /** The numbers of the ten minutes that the lists are of. */
  readonly spans: readonly number[];
  /** The server's clock, in microseconds: says when the lists end. */
  readonly now: number;
  /** The subjects, as lists have them. */
  readonly items: readonly string[];
}

/** Erases subjects from lists. The reply says from how many. What is no list of usage, and no string, stays. */
export const unlist: Step<UnlistCall> = {
  ...runList("unlist", {
    source: unlistLua,
    parameters: ({ spans, now, items }: UnlistCall) => [
      spans.length,
      ...spans.map((span) => Math.max(0, (span + 1) * LONG_SPAN + KEPT - Math.round(now))),
      items.length,
      ...items,
    ],
    replySize: () => 1,
  }),
  keys: ({ prefix, id, spans }) => spans.map((span) => topsKey(prefix, id, span)),
  // Each goes alone.
  weight: () => 256,
  // Nobody keeps usage in the memory of a process.
  twin: (_, __, { now }) => [now, 0],
};
