import type { Limit, Policy } from "@headgate/core";

/** How much a policy grants in a window, to be drawn beside the peaks of clients. */
export interface LimitLine {
  /** The policy's place, from 1. */
  readonly policy: number;
  /** Units in the window. */
  readonly units: number;
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  week: 604_800_000,
};

/** The lines of all policies in a window of so many milliseconds. */
export function limitLines(policies: readonly Policy[], window: number): LimitLine[] {
  return policies.flatMap((policy, i) =>
    [policy]
      .flat()
      .filter((limit) => windowOf(limit) === window)
      .map((limit) => ({ policy: i + 1, units: unitsOf(limit) })),
  );
}

/** Milliseconds; undefined for places, and for months and years, whose length changes. */
function windowOf(limit: Limit): number | undefined {
  if (limit.algorithm === "concurrency") return undefined;
  const window = limit.algorithm === "tokenBucket" ? limit.every : limit.window;
  if (typeof window === "number") return window;
  const [, count, unit] = /^(\d*)([a-z]+)$/.exec(window) ?? [];
  const ms = UNITS[unit as string];
  return ms === undefined ? undefined : Number(count || 1) * ms;
}

function unitsOf(limit: Limit): number {
  return limit.algorithm === "tokenBucket" ? limit.refill : limit.limit;
}
