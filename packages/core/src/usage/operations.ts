import { defineListOperation } from "../operations/list-script.ts";
import type { Operation } from "../store/store.ts";
import type { Resolution } from "./layout.ts";
import {
  blocksKey,
  DAY_MICROS,
  indexedName,
  keptSpans,
  limiterKey,
  OTHER_LIMITERS,
  RESOLUTIONS,
  SECOND_MICROS,
  startOf,
  TEN_MINUTES_MICROS,
  usageKey,
  usageProcessKey,
} from "./layout.ts";
import { clockLua, eraseLua, usageLua } from "./lua.generated.ts";

/** The counts of a process for one limiter since its last call. */
export interface LimiterCounts {
  /** Empty for limiters that are counted together. */
  readonly name: string;
  readonly rows: readonly UsageRow[];
  /** Undefined if only numbers are sent. */
  readonly subjects?: SubjectCounts | undefined;
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

/** The decisions of a process by subject, and its denials by limit. */
export interface SubjectCounts {
  /** The subjects with decisions, and those with denials; empty if there are none. */
  readonly used: SubjectList;
  readonly denied: SubjectList;
  readonly denials: Readonly<Record<string, number>>;
}

/**
 * The largest possible count of a subject that is left out, the number of decisions, and for each subject its member of the
 * sorted set, its largest possible count, and the error of that.
 */
export type SubjectList = readonly (number | string)[];

/** The second in which a block ends, and its member of the sorted set. */
export type BlockEntry = readonly [ends: number, member: string];

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
  /** The blocks that it has encountered. */
  readonly blocks: readonly BlockEntry[];
}

/** The result of a call. */
export const USAGE_STATES = { repeated: 0, done: 1, clockSkew: 2, wrongType: -1 } as const;

/** A period of a call, and the steps of each limiter in it. */
interface CallPeriod {
  readonly resolution: Resolution;
  readonly from: number;
  /** For each limiter its row of each step, by the second at which the step begins. */
  readonly steps: readonly Map<number, UsageRow>[];
}

/** The periods in which a call has rows. A row that is too old for a resolution is left out of it. */
function periodsOf({ limiters, clock, clockOffset }: UsageCall): readonly CallPeriod[] {
  const periods = new Map<string, CallPeriod>();
  for (const [i, { rows }] of limiters.entries()) {
    for (const row of rows) {
      const at = row.at + clockOffset;
      for (const resolution of Object.values(RESOLUTIONS)) {
        if (clock - at > resolution.span) continue;
        const from = startOf(at, resolution.period);
        const key = `${resolution.kind} ${from}`;
        const period = periods.get(key) ?? {
          resolution,
          from,
          steps: limiters.map(() => new Map()),
        };
        periods.set(key, period);
        const second = startOf(at, resolution.step) / SECOND_MICROS;
        const steps = period.steps[i] as Map<number, UsageRow>;
        steps.set(second, addRows(steps.get(second), row));
      }
    }
  }
  return [...periods.values()];
}

/** The sum of two rows, dated like the first. */
export function addRows(one: UsageRow | undefined, other: UsageRow): UsageRow {
  if (one === undefined) return other;
  return {
    at: one.at,
    allowed: one.allowed + other.allowed,
    denied: one.denied + other.denied,
    degraded: one.degraded + other.degraded,
  };
}

/**
 * Adds a process's counts. The reply has the result of the call, as in `USAGE_STATES`, and a number for each limiter: 1 if the
 * server counted it, 2 if it counted it with the others, -1 if one of its keys holds something else.
 */
export const addUsage: Operation<UsageCall> = {
  ...defineListOperation("usage", {
    source: usageLua,
    parameters: (call: UsageCall) => [encodeUsage(call)],
    replySize: ({ limiters }) => 1 + limiters.length,
  }),
  keys: (call) => {
    const { prefix, process, clock, limiters } = call;
    const periods = periodsOf(call);
    const stepKeys = (name: string): string[] =>
      periods.map(({ resolution, from }) => limiterKey(prefix, name, resolution.kind, from));
    const tenMinutes = startOf(clock, TEN_MINUTES_MICROS);
    const subjectKeys = (name: string): string[] => [
      ...(["used", "denied", "bounds", "denials"] as const).map((kind) =>
        limiterKey(prefix, name, kind, tenMinutes),
      ),
      limiterKey(prefix, name, "day-denials", startOf(clock, DAY_MICROS)),
    ];
    return [
      usageKey(prefix),
      usageProcessKey(prefix, process),
      blocksKey(prefix),
      ...stepKeys(OTHER_LIMITERS),
      ...limiters.flatMap(({ name, subjects }) => [
        ...stepKeys(name),
        ...(subjects === undefined ? [] : subjectKeys(name)),
      ]),
    ];
  },
  // Each call is sent alone.
  weight: () => 256,
  // The memory of a process has no other readers.
  runInMemory: ({ limiters }, _, { now }) => [now, USAGE_STATES.done, ...limiters.map(() => 1)],
};

/** The argument of usage.lua. */
function encodeUsage(call: UsageCall): string {
  const { number, clock, blocks, limiters } = call;
  const periods = periodsOf(call);
  return JSON.stringify({
    number,
    clock: Math.round(clock),
    ttls: periods.map(({ resolution }) => resolution.ttl / 1_000),
    blocks,
    limiters: limiters.map(({ name, subjects }, i) => ({
      name: indexedName(name),
      steps: periods.flatMap(({ steps }, period) =>
        [...(steps[i] ?? [])].map(([second, { allowed, denied, degraded }]) => [
          period + 1,
          second,
          allowed,
          denied,
          degraded,
        ]),
      ),
      ...subjects,
    })),
  });
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

/** Subjects to erase from the lists of a limiter, and from the blocks. */
export interface EraseSubjectsCall {
  readonly prefix: string;
  readonly limiter: string;
  /** The server's clock, in microseconds. */
  readonly now: number;
  /** The members of the sorted sets of subjects, and of the one of blocks. */
  readonly members: readonly string[];
  readonly blocked: readonly string[];
  /** Whether the lists are only counted. */
  readonly isDryRun: boolean;
}

/** Erases subjects from lists. The reply has the number of lists affected. Leaves other values alone. */
export const eraseSubjects: Operation<EraseSubjectsCall> = {
  ...defineListOperation("erase-subjects", {
    source: eraseLua,
    parameters: ({ now, members, blocked, isDryRun }: EraseSubjectsCall) => [
      JSON.stringify({ spans: keptSpans(now).length, members, blocked, isDryRun }),
    ],
    replySize: () => 1,
  }),
  keys: ({ prefix, limiter, now }) => [
    blocksKey(prefix),
    ...keptSpans(now).flatMap((from) =>
      (["used", "denied", "bounds"] as const).map((kind) =>
        limiterKey(prefix, limiter, kind, from),
      ),
    ),
  ],
  // Each call is sent alone.
  weight: () => 256,
  // A store in memory has no usage.
  runInMemory: (_, __, { now }) => [now, 0],
};
