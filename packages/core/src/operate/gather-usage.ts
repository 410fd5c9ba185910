import type { KeptList, UsageCounts, UsageSpan } from "../fleet/usage/read-records.ts";
import { readItem } from "../fleet/usage/read-records.ts";
import type { TopList, TopSubject } from "./usage.ts";

/** So many subjects are read at most. */
const MOST_SUBJECTS = 50;

/** What is known of a subject: how often it asked at least, and at most. */
interface Bounds {
  least: number;
  most: number;
}

/** Adds up what was decided since a time. */
export function totalOf(spans: readonly UsageSpan[]): UsageCounts {
  const total = { allowed: 0, denied: 0, degraded: 0 };
  for (const { allowed, denied, degraded } of spans) {
    total.allowed += allowed;
    total.denied += denied;
    total.degraded += degraded;
  }
  return total;
}

/**
 * Puts the lists of several times together: whoever is not in one of them may have asked in its time as often as it says of those who
 * are not.
 */
export function gatherTops(lists: readonly KeptList[]): TopList {
  const unlisted = lists.reduce((sum, { missed, floor }) => sum + missed + floor, 0);
  const bounds = new Map<string, Bounds>();
  for (const { floor, subjects } of lists) {
    for (const { item, count, error } of subjects) {
      const known = bounds.get(item) ?? { least: 0, most: unlisted };
      known.least += count - error;
      // In this list it is known better than those who are not in it.
      known.most += count - floor;
      bounds.set(item, known);
    }
  }
  const most = [...bounds].sort(([, one], [, other]) => other.most - one.most);
  const top = most.slice(0, MOST_SUBJECTS).map(readSubject);
  return {
    top: top.filter((one) => one !== undefined).sort((one, other) => other.count - one.count),
    total: lists.reduce((sum, { total }) => sum + total, 0),
    unlisted: Math.max(unlisted, most[MOST_SUBJECTS]?.[1].most ?? 0),
  };
}

function readSubject([item, { least, most }]: readonly [string, Bounds]): TopSubject | undefined {
  const who = readItem(item);
  return who && { ...who, count: least, error: most - least };
}
