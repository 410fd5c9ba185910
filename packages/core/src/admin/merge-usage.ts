import { HOUR_MICROS } from "../usage/operations.ts";
import type { StoredDenials, StoredList, UsageCounts, UsageSpan } from "../usage/parse-records.ts";
import { parseItem } from "../usage/parse-records.ts";
import { DENIED_BY_BLOCK, DENIED_BY_OTHER_LIMITS } from "../usage/usage-counter.ts";
import type { DenialsByLimit, LimitDenials, TopList, TopSubject } from "./usage.ts";

/** The most subjects in a list. */
const MAX_SUBJECTS = 50;

/** The smallest and the largest possible count of a subject. */
interface Bounds {
  least: number;
  most: number;
}

/** Adds up the decisions since a time. */
export function sumSpans(spans: readonly UsageSpan[]): UsageCounts {
  const total = { allowed: 0, denied: 0, degraded: 0 };
  for (const { allowed, denied, degraded } of spans) {
    total.allowed += allowed;
    total.denied += denied;
    total.degraded += degraded;
  }
  return total;
}

/**
 * The hours after a time in microseconds. Each is taken from its hour record or from the ten-minute slots of the last day,
 * whichever is larger: hour records are written half a minute later, and the slots may have been deleted.
 */
export function hoursAfter(
  kept: readonly UsageSpan[],
  tenMinutes: readonly UsageSpan[],
  after: number,
): readonly UsageSpan[] {
  const hours = new Map(kept.map((span) => [span.from, span]));
  const summed = new Map<number, UsageSpan>();
  for (const span of tenMinutes) {
    const hour = HOUR_MICROS / 1_000;
    const from = Math.floor(span.from / hour) * hour;
    const before = summed.get(from);
    summed.set(from, { from, ...sumSpans(before === undefined ? [span] : [before, span]) });
  }
  for (const [from, sum] of summed) {
    const known = hours.get(from) ?? sum;
    hours.set(from, {
      from,
      allowed: Math.max(known.allowed, sum.allowed),
      denied: Math.max(known.denied, sum.denied),
      degraded: Math.max(known.degraded, sum.degraded),
    });
  }
  const all = [...hours.values()].sort((one, other) => one.from - other.from);
  return all.filter(({ from }) => from * 1_000 > after);
}

/** Adds up the denials by limit of several periods, the first of which begins at `from`. */
export function mergeDenials(kept: readonly StoredDenials[], from: number): DenialsByLimit {
  const counts = new Map<string, number>();
  for (const limits of kept) {
    for (const [key, count] of Object.entries(limits)) {
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
  }
  const byLimit = [...counts].flatMap(([key, denied]): LimitDenials[] => {
    const at = key.indexOf(" ");
    return at < 0 ? [] : [{ per: key.slice(0, at), limit: key.slice(at + 1), denied }];
  });
  return {
    from,
    byLimit: byLimit.sort((one, other) => other.denied - one.denied),
    byBlock: counts.get(DENIED_BY_BLOCK) ?? 0,
    more: counts.get(DENIED_BY_OTHER_LIMITS) ?? 0,
  };
}

/**
 * Merges the lists of several periods: a subject missing from one of them may have any count up to the list's bound for
 * unlisted subjects.
 */
export function mergeTopSubjects(lists: readonly StoredList[]): TopList {
  const unlisted = lists.reduce((sum, { missed, floor }) => sum + missed + floor, 0);
  const bounds = new Map<string, Bounds>();
  for (const { floor, subjects } of lists) {
    for (const { item, count, error } of subjects) {
      const known = bounds.get(item) ?? { least: 0, most: unlisted };
      known.least += count - error;
      // In this list its count replaces the bound for unlisted subjects.
      known.most += count - floor;
      bounds.set(item, known);
    }
  }
  const most = [...bounds].sort(([, one], [, other]) => other.most - one.most);
  const top = most.slice(0, MAX_SUBJECTS).map(parseSubject);
  return {
    top: top.filter((one) => one !== undefined).sort((one, other) => other.count - one.count),
    total: lists.reduce((sum, { total }) => sum + total, 0),
    maxUnlisted: Math.max(unlisted, most[MAX_SUBJECTS]?.[1].most ?? 0),
  };
}

function parseSubject([item, { least, most }]: readonly [string, Bounds]): TopSubject | undefined {
  const who = parseItem(item);
  return who && { ...who, count: least, error: most - least };
}
