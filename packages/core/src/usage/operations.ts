import { defineListOperation } from "../operations/list-script.ts";
import type { Operation } from "../store/store.ts";
import { clockLua, eraseLua, unlistLua, usageLua } from "./lua.generated.ts";

/** The counts of a process for one limiter since its last call. */
export interface LimiterCounts {
  /** The limiter's id of 16 characters; empty for limiters that are counted together. */
  readonly id: string;
  readonly name: string;
  readonly rows: readonly UsageRow[];
  /** The subjects with decisions, and those with denials, as in tops.lua; empty if there are none. */
  readonly used: string;
  readonly denied: string;
  /** The denials of each limit, as JSON; empty if only numbers are sent. */
  readonly denialsByLimit: string;
}

/** Counts for a period. */
export interface UsageRow {
  /** The middle of the period, in microseconds since the epoch, by the clock of the process. */
  readonly at: number;
  readonly allowed: number;
  readonly denied: number;
  /** Of those, the decisions made without the store. */
  readonly degraded: number;
}

/** The counts that a process adds to usage. */
export interface UsageCall {
  readonly prefix: string;
  /** The name of the process: 16 characters. */
  readonly process: string;
  /** Grows with each new call of a process; a repeated call keeps its number. */
  readonly number: number;
  /** The process's estimate of the server's clock, in microseconds; and how far that is ahead of its own. */
  readonly clock: number;
  readonly clockOffset: number;
  readonly limiters: readonly LimiterCounts[];
  /** The blocks that it has encountered, as returned by `BlockSightings`. */
  readonly blocks: string;
}

/** The result of a call. */
export const USAGE_STATES = {
  repeated: 0,
  done: 1,
  clockSkew: 2,
  otherFormat: 3,
  tooLong: 4,
  wrongType: -1,
} as const;

/** Microseconds of the spans in which usage is stored, and how many there are of each. */
export const SHORT_SPAN_MICROS = 10_000_000;
export const TEN_MINUTES_MICROS = 600_000_000;
export const SHORT_SPANS = 360;
export const TEN_MINUTES_KEPT = 144;

/** Microseconds of the hours in a day's record, and of the day. */
export const HOUR_MICROS = 3_600_000_000;
export const DAY_MICROS = 86_400_000_000;

/** For how many microseconds counts are kept after the last change, as in usage.lua. */
export const KEPT_MICROS = 90_000_000_000;

/** The longest span for which hours are kept: 30 days. */
export const MAX_SPAN_MICROS = 2_592_000_000_000;

/** The id of the series for all limiters without one of their own. */
export const OTHER_LIMITERS = "other";

/** The key of the index of limiters with usage under a prefix. No counter's key has this form. */
export function usageKey(prefix: string): string {
  return `${prefix}:{usage}`;
}

/** The key of the number of a process's last call, by the name of the process. */
export function usageProcessKey(prefix: string, process: string): string {
  return `${usageKey(prefix)}:process/${process}`;
}

/** The key of a limiter's numbers. */
export function seriesKey(prefix: string, id: string): string {
  return `${usageKey(prefix)}:series/${id}`;
}

/** The key of its subjects in ten minutes, numbered since the epoch. */
export function topSubjectsKey(prefix: string, id: string, span: number): string {
  return `${usageKey(prefix)}:top/${id}/${span}`;
}

/** The key of its denials by limit in ten minutes, numbered since the epoch. */
export function denialsKey(prefix: string, id: string, span: number): string {
  return `${usageKey(prefix)}:limits/${id}/${span}`;
}

/** The key of the list of a day's limiters, by the number of days since the epoch. */
export function dayListKey(prefix: string, day: number): string {
  return `${usageKey(prefix)}:days/${day}`;
}

/** The key of a limiter's hours in a day. */
export function dayKey(prefix: string, id: string, day: number): string {
  return `${usageKey(prefix)}:day/${id}/${day}`;
}

/**
 * The key of the list of blocks in force. It is in the hash slot of usage, but matches no key pattern that lets a user read
 * only usage, because it contains subjects in the form of counter keys. No other key has a prefix without a colon before the
 * brace.
 */
export function blocksKey(prefix: string): string {
  return `${prefix}:blocks{usage}`;
}

/**
 * Adds a process's counts. The reply has the result of the call, as in `USAGE_STATES`, and a number for each limiter: 1 if the
 * server counted it, 2 if it counted it with the others, 3 or -1 if its key holds something else, 4 if it did not store the
 * subjects, limits or hours.
 */
export const addUsage: Operation<UsageCall> = {
  ...defineListOperation("usage", {
    source: usageLua,
    parameters: (call: UsageCall) => [
      call.number,
      Math.round(call.clock),
      call.limiters.length,
      call.blocks,
      ...call.limiters.flatMap((limiter) => [
        limiter.id,
        limiter.name,
        limiter.rows.map((row) => formatRow(row, call.clockOffset)).join("\n"),
        limiter.used,
        limiter.denied,
        denialsToSend(limiter, call),
      ]),
    ],
    replySize: ({ limiters }) => 1 + limiters.length,
  }),
  keys: (call) => {
    const { prefix, process, clock, limiters } = call;
    const span = Math.floor(clock / TEN_MINUTES_MICROS);
    const today = Math.floor(clock / DAY_MICROS);
    const daysOf = (id: string): string[] => [
      dayKey(prefix, id, today - 1),
      dayKey(prefix, id, today),
    ];
    return [
      usageKey(prefix),
      usageProcessKey(prefix, process),
      seriesKey(prefix, OTHER_LIMITERS),
      dayListKey(prefix, today - 1),
      dayListKey(prefix, today),
      ...daysOf(OTHER_LIMITERS),
      blocksKey(prefix),
      ...limiters.flatMap((limiter) => {
        const id = limiter.id || OTHER_LIMITERS;
        const keys = [seriesKey(prefix, id), topSubjectsKey(prefix, id, span)];
        if (denialsToSend(limiter, call) === "") return keys;
        return [...keys, denialsKey(prefix, id, span), ...daysOf(id)];
      }),
    ];
  },
  // Each call is sent alone.
  weight: () => 256,
  // The memory of a process has no other readers.
  runInMemory: ({ limiters }, _, { now }) => [now, USAGE_STATES.done, ...limiters.map(() => 1)],
};

/** Hours are sent with the subjects, and with rows of an earlier hour that the server did not accept in time. */
function denialsToSend(
  { denialsByLimit, rows }: LimiterCounts,
  { clock, clockOffset }: UsageCall,
): string {
  if (denialsByLimit !== "") return denialsByLimit;
  const isLate = ({ at }: UsageRow): boolean =>
    Math.floor((at + clockOffset) / HOUR_MICROS) < Math.floor(clock / HOUR_MICROS);
  return rows.some(isLate) ? "{}" : "";
}

function formatRow({ at, allowed, denied, degraded }: UsageRow, ahead: number): string {
  return `${Math.floor((at + ahead) / SHORT_SPAN_MICROS)} ${allowed} ${denied} ${degraded}`;
}

/** Reads the clock of the server that keeps usage. */
export const readUsageClock: Operation<{ readonly prefix: string }> = {
  ...defineListOperation("read-clock", {
    source: clockLua,
    parameters: () => [],
    replySize: () => 1,
  }),
  keys: ({ prefix }) => [usageKey(prefix)],
  weight: () => 1,
  runInMemory: (_, __, { now }) => [now, 0],
};

/** Subjects to erase from lists of a limiter. */
export interface EraseSubjectsCall {
  readonly prefix: string;
  /** The limiter's id in keys. */
  readonly id: string;
  /** The lists' numbers of ten minutes since the epoch. */
  readonly spans: readonly number[];
  /** The server's clock, in microseconds, to determine when the lists expire. */
  readonly now: number;
  /** The subjects in the form of the lists. */
  readonly items: readonly string[];
}

/** Erases subjects from lists. The reply has the number of lists affected. Leaves other values alone. */
export const eraseSubjects: Operation<EraseSubjectsCall> = {
  ...defineListOperation("unlist", {
    source: unlistLua,
    parameters: ({ spans, now, items }: EraseSubjectsCall) => [
      spans.length,
      ...spans.map((span) =>
        Math.max(0, (span + 1) * TEN_MINUTES_MICROS + KEPT_MICROS - Math.round(now)),
      ),
      items.length,
      ...items,
    ],
    replySize: () => 1,
  }),
  keys: ({ prefix, id, spans }) => spans.map((span) => topSubjectsKey(prefix, id, span)),
  // Each call is sent alone.
  weight: () => 256,
  // A store in memory has no usage.
  runInMemory: (_, __, { now }) => [now, 0],
};

/** Subjects to erase from the list of blocks. */
export interface EraseBlocksCall {
  readonly prefix: string;
  /** As in the list, after the time. */
  readonly blocked: readonly string[];
}

/**
 * Erases subjects from the list of blocks. The reply says whether any was in it. A value that is not such a list is left alone.
 */
export const eraseBlocks: Operation<EraseBlocksCall> = {
  ...defineListOperation("erase-blocks", {
    source: eraseLua,
    parameters: ({ blocked }: EraseBlocksCall) => [blocked.length, ...blocked],
    replySize: () => 1,
  }),
  keys: ({ prefix }) => [blocksKey(prefix)],
  weight: () => 256,
  // A store in memory has no usage.
  runInMemory: (_, __, { now }) => [now, 0],
};
