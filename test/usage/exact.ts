import type { TopList, TopSubject } from "@headgate/core/admin";
import { hashSubject } from "@headgate/core/admin";
import { expect } from "vitest";

/** Adds one to what is counted under a key. */
export function count(exact: Map<string, number>, key: string): void {
  exact.set(key, (exact.get(key) ?? 0) + 1);
}

export function countsOf(keys: readonly string[]): Map<string, number> {
  const exact = new Map<string, number>();
  for (const key of keys) count(exact, key);
  return exact;
}

/** The most frequent, first. */
export function sortedOf(exact: ReadonlyMap<string, number>): [string, number][] {
  return [...exact].sort(([, one], [, other]) => other - one);
}

/** Checks what a list says against exact counts: each count is within its error, and whoever is missing asked no more often than it says. */
export function expectWithinBounds(
  { top, total, maxUnlisted }: TopList,
  exact: ReadonlyMap<string, number>,
): void {
  const all = sortedOf(exact);
  expect(total).toBe(all.reduce((sum, [, times]) => sum + times, 0));
  const byHash = new Map(all.map(([subject, times]) => [hashSubject(subject), times]));
  const timesOf = ({ subject, hash }: TopSubject): number =>
    exact.get(subject ?? "") ?? byHash.get(hash ?? "") ?? Number.NaN;
  for (const one of top) {
    expect(timesOf(one)).toBeGreaterThanOrEqual(one.count);
    expect(timesOf(one)).toBeLessThanOrEqual(one.count + one.error);
  }
  const listed = new Set(top.map(({ subject, hash }) => hash ?? hashSubject(subject ?? "")));
  expect(listed.size).toBe(top.length);
  for (const [subject, times] of all) {
    if (!listed.has(hashSubject(subject))) expect(times).toBeLessThanOrEqual(maxUnlisted);
  }
}
