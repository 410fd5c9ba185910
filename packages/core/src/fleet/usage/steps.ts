import { runList } from "../../store/list-script.ts";
import type { Step } from "../../store/store.ts";
import { clockLua, eraseLua, unlistLua, usageLua } from "./lua.generated.ts";

/** What a process has counted of one limiter since it said so last. */
export interface LimiterCount {
  /** The 16 characters that name it in keys; empty for limiters that are counted together with all others. */
  readonly id: string;
  readonly name: string;
  readonly rows: readonly UsageRow[];
  /** Who asked, and who was denied, as in usage.lua; empty where nobody did. */
  readonly used: string;
  readonly denied: string;
  /** How many denials each limit has, as JSON; empty where only numbers are sent. */
  readonly limits: string;
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
  /** The blocks that it has met, as `SeenBlocks` takes them. */
  readonly blocks: string;
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

/** Microseconds of the places of a day's record, and of the day. */
export const HOUR_SPAN = 3_600_000_000;
export const DAY_SPAN = 86_400_000_000;

/** For so many microseconds what was counted is kept after the last change: as long as usage.lua has it. */
export const KEPT = 90_000_000_000;

/** The longest span of which hours are kept: 30 days. */
export const LONGEST_SPAN = 2_592_000_000_000;

/** The name of the series of all limiters that have none of their own. */
export const OTHERS = "other";

/** Where the limiters of a prefix that have usage are listed. It is no counter's key: behind the subject those have three parts. */
export function usageKey(prefix: string): string {
  return `${prefix}:{usage}`;
}

/** Where the last number of a process is, by its name. */
export function usageProcessKey(prefix: string, process: string): string {
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

/** Where the denials by limit of ten minutes are, by the number of these since the epoch. */
export function limitsKey(prefix: string, id: string, span: number): string {
  return `${usageKey(prefix)}:limits/${id}/${span}`;
}

/** Where the limiters of a day are listed, by the number of days since the epoch. */
export function dayListKey(prefix: string, day: number): string {
  return `${usageKey(prefix)}:days/${day}`;
}

/** Where the hours of a limiter in a day are. */
export function dayKey(prefix: string, id: string, day: number): string {
  return `${usageKey(prefix)}:day/${id}/${day}`;
}

/**
 * Where the blocks in force are listed: in the slot of usage, and in no pattern of keys that lets a user read only usage, because subjects are
 * in it as in the keys of counters. No other key has a prefix and no colon in front of a brace.
 */
export function blocksKey(prefix: string): string {
  return `${prefix}:blocks{usage}`;
}

/**
 * Adds what a process counted. The reply says what became of the call, as in `USAGE_STATES`, and of each limiter 1 when it was
 * counted, 2 when it was counted among all others, 3 or -1 when something else is in its place, 4 when its subjects, limits or hours were not kept.
 */
export const addUsage: Step<UsageCall> = {
  ...runList("usage", {
    source: usageLua,
    parameters: (call: UsageCall) => [
      call.number,
      Math.round(call.clock),
      call.limiters.length,
      call.blocks,
      ...call.limiters.flatMap((limiter) => [
        limiter.id,
        limiter.name,
        limiter.rows.map((row) => writeRow(row, call.ahead)).join("\n"),
        limiter.used,
        limiter.denied,
        limitsOf(limiter, call),
      ]),
    ],
    replySize: ({ limiters }) => 1 + limiters.length,
  }),
  keys: (call) => {
    const { prefix, process, clock, limiters } = call;
    const span = Math.floor(clock / LONG_SPAN);
    const today = Math.floor(clock / DAY_SPAN);
    const daysOf = (id: string): string[] => [
      dayKey(prefix, id, today - 1),
      dayKey(prefix, id, today),
    ];
    return [
      usageKey(prefix),
      usageProcessKey(prefix, process),
      seriesKey(prefix, OTHERS),
      dayListKey(prefix, today - 1),
      dayListKey(prefix, today),
      ...daysOf(OTHERS),
      blocksKey(prefix),
      ...limiters.flatMap((limiter) => {
        const id = limiter.id || OTHERS;
        const keys = [seriesKey(prefix, id), topsKey(prefix, id, span)];
        if (limitsOf(limiter, call) === "") return keys;
        return [...keys, limitsKey(prefix, id, span), ...daysOf(id)];
      }),
    ];
  },
  // Each goes alone.
  weight: () => 256,
  // Nobody else sees the memory of this process.
  twin: ({ limiters }, _, { now }) => [now, USAGE_STATES.done, ...limiters.map(() => 1)],
};

/** Hours are due with the subjects, and with rows of an earlier hour, which the server did not take in time. */
function limitsOf({ limits, rows }: LimiterCount, { clock, ahead }: UsageCall): string {
  if (limits !== "") return limits;
  const isLate = ({ at }: UsageRow): boolean =>
    Math.floor((at + ahead) / HOUR_SPAN) < Math.floor(clock / HOUR_SPAN);
  return rows.some(isLate) ? "{}" : "";
}

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

/** Subjects to be erased from the list of blocks. */
export interface EraseCall {
  readonly prefix: string;
  /** As the list has them behind their time. */
  readonly blocked: readonly string[];
}

/** Erases subjects from the list of blocks. The reply says whether it had one. What is no such list stays. */
export const eraseBlocks: Step<EraseCall> = {
  ...runList("erase-blocks", {
    source: eraseLua,
    parameters: ({ blocked }: EraseCall) => [blocked.length, ...blocked],
    replySize: () => 1,
  }),
  keys: ({ prefix }) => [blocksKey(prefix)],
  weight: () => 256,
  // Nobody keeps usage in the memory of a process.
  twin: (_, __, { now }) => [now, 0],
};
