import { sumCounts } from "./merge-usage.ts";
import type { LimiterUsage, TopList, Usage, UsageCounts } from "./usage.ts";

/**
 * The age of a step of ten seconds whose decisions all came in the last minute: a process dates those of about five seconds together,
 * at their middle.
 */
const LAST_MINUTE_MS = 55_000;
const STEP_MS = 10_000;

/** The decisions of a limiter in the time of its lists, which must be part of the last 15 minutes. */
interface SplitUsage {
  /** Where the steps of the last minute begin: milliseconds since the epoch. */
  readonly from: number;
  readonly before: UsageCounts;
  readonly since: UsageCounts;
}

export function splitByLastMinute(
  { tenSeconds, subjects }: LimiterUsage,
  { at }: Usage,
): SplitUsage {
  const from = Math.ceil((at - LAST_MINUTE_MS) / STEP_MS) * STEP_MS;
  const steps = tenSeconds.filter((step) => step.from >= subjects.from);
  return {
    from,
    before: sumCounts(steps.filter((step) => step.from < from)),
    since: sumCounts(steps.filter((step) => step.from >= from)),
  };
}

/**
 * What certainly came in the last minute. The lists are of ten minutes, but of a client's requests no more can be older than all
 * clients together sent before: the others are new.
 */
export function lastMinuteOf(one: LimiterUsage, usage: Usage): LimiterUsage {
  const { from, before, since } = splitByLastMinute(one, usage);
  const newIn = (list: TopList, older: number): TopList => ({
    ...list,
    top: list.top.map((each) => ({ ...each, count: Math.max(0, each.count - older) })),
  });
  const { used, denied } = one.subjects;
  const subjects = {
    from,
    used: newIn(used, requestsOf(before)),
    denied: newIn(denied, before.denied),
  };
  return { ...one, total: since, subjects };
}

export function requestsOf({ allowed, denied }: UsageCounts): number {
  return allowed + denied;
}
