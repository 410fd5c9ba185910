import { parseMember } from "../usage/top-subjects.ts";
import { DENIED_BY_BLOCK, DENIED_BY_OTHER_LIMITS } from "../usage/usage-counter.ts";
import type { DenialsByLimit, LimitDenials, TopList, TopSubject, UsageCounts } from "./usage.ts";

/** The most subjects in a list. */
const MAX_SUBJECTS = 50;

/** The subjects of ten minutes. */
export interface StoredList {
  /** The largest possible count of a subject that no process reported. */
  readonly missed: number;
  /** The largest possible count of a reported subject outside the list. */
  readonly floor: number;
  readonly total: number;
  readonly subjects: readonly StoredSubject[];
}

/** A subject in a list, with at most `count` decisions, and at least `count - error`. `TopSubject.count` is the lower bound. */
export interface StoredSubject {
  readonly member: string;
  readonly count: number;
  readonly error: number;
}

/** Numbers by name. */
export type StoredCounts = Readonly<Record<string, number>>;

/** Adds up decisions. */
export function sumCounts(all: readonly UsageCounts[]): UsageCounts {
  const total = { allowed: 0, denied: 0, degraded: 0 };
  for (const { allowed, denied, degraded } of all) {
    total.allowed += allowed;
    total.denied += denied;
    total.degraded += degraded;
  }
  return total;
}

/**
 * Adds up the denials of several periods, the first of which begins at `from`, by the dimension and name of a limit, or by
 * `DENIED_BY_BLOCK` or `DENIED_BY_OTHER_LIMITS`.
 */
export function mergeDenials(all: readonly StoredCounts[], from: number): DenialsByLimit {
  const counts = new Map<string, number>();
  for (const denials of all) {
    for (const [key, count] of Object.entries(denials)) {
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
  const bounds = new Map<string, { least: number; most: number }>();
  for (const { floor, subjects } of lists) {
    for (const { member, count, error } of subjects) {
      const known = bounds.get(member) ?? { least: 0, most: unlisted };
      known.least += count - error;
      // In this list its count replaces the bound for unlisted subjects.
      known.most += count - floor;
      bounds.set(member, known);
    }
  }
  const sorted = [...bounds].sort(([, one], [, other]) => other.most - one.most);
  const top = sorted.slice(0, MAX_SUBJECTS).flatMap(([member, { least, most }]): TopSubject[] => {
    const who = parseMember(member);
    return who === undefined ? [] : [{ ...who, count: least, error: most - least }];
  });
  return {
    top: top.sort((one, other) => other.count - one.count),
    total: lists.reduce((sum, { total }) => sum + total, 0),
    maxUnlisted: Math.max(unlisted, sorted[MAX_SUBJECTS]?.[1].most ?? 0),
  };
}
