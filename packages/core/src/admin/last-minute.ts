import { sumCounts } from "./merge-usage.ts";
import type { LimiterUsage, TopList, Usage, UsageCounts } from "./usage.ts";

/**
 * The age of a step of ten seconds whose decisions all came in the last minute: a process dates those of about five seconds together,
 * at their middle.
 */
const LAST_MINUTE_MS = 55_000;
const STEP_MS = 10_000;

/** What `tenSeconds` covers. */
const STEPS_MS = 900_000;

/** How long a process keeps subjects, at most, while Redis is there. They belong to the ten minutes in which it sends them. */
const SUBJECTS_LATE_MS = 40_000;

/** The decisions of a limiter in the time of its lists, which must be part of the last 15 minutes. */
interface SplitUsage {
  /** Where the steps of the last minute begin: milliseconds since the epoch. */
  readonly from: number;
  readonly before: UsageCounts;
  readonly since: UsageCounts;
  /** How many decisions in the lists can be from before the last minute, at most: Infinity if that is not known. */
  readonly mostOlder: Pick<UsageCounts, "allowed" | "denied">;
}

const UNKNOWN = { allowed: Number.POSITIVE_INFINITY, denied: Number.POSITIVE_INFINITY };

export function splitByLastMinute(
  { tenSeconds, subjects }: LimiterUsage,
  { at }: Usage,
): SplitUsage {
  const from = Math.ceil((at - LAST_MINUTE_MS) / STEP_MS) * STEP_MS;
  const countBetween = (start: number, end: number): UsageCounts =>
    sumCounts(tenSeconds.filter((step) => step.from >= start && step.from < end));
  const earliest = subjects.from - SUBJECTS_LATE_MS;
  const older = countBetween(earliest, from);
  const since = countBetween(from, at);
  // While Redis is away, subjects are kept for longer.
  const isKnown = earliest > at - STEPS_MS && older.degraded + since.degraded === 0;
  return {
    from,
    before: countBetween(subjects.from, from),
    since,
    mostOlder: isKnown ? older : UNKNOWN,
  };
}

/**
 * The usage of the last minute, as lower bounds. The lists are of ten minutes, but of a client's requests no more can be older than
 * all clients together sent before: the others are new.
 */
export function lastMinuteOf(one: LimiterUsage, usage: Usage): LimiterUsage {
  const { from, since, mostOlder } = splitByLastMinute(one, usage);
  const newIn = (list: TopList, older: number): TopList => ({
    ...list,
    top: list.top.map((each) => ({ ...each, count: Math.max(0, each.count - older) })),
  });
  const { used, denied } = one.subjects;
  const subjects = {
    from,
    used: newIn(used, requestsOf(mostOlder)),
    denied: newIn(denied, mostOlder.denied),
  };
  return { ...one, total: since, subjects };
}

export function requestsOf({ allowed, denied }: Pick<UsageCounts, "allowed" | "denied">): number {
  return allowed + denied;
}
