import type { LimitState } from "../base/decision.ts";
import { formatKind, HeadgateError } from "../base/errors.ts";
import type { Policy } from "../base/policy.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { SubjectCounter } from "../counting/counters.ts";
import { countersBeside } from "../counting/other-shape.ts";

/** The counters of a subject under one policy. */
export interface Part {
  readonly counted: CountedPolicy;
  readonly counters: readonly SubjectCounter[];
}

/** Throws `HEADGATE_INVALID_OPTION`. */
export function readOthers(others: unknown): readonly Policy[] {
  if (Array.isArray(others)) return others as readonly Policy[];
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `others must be a list of policies, got ${formatKind(others)}`,
  );
}

/** The counters of the same subject under other policies of its limiter, without duplicates. */
export function partsBeside(own: Part, others: readonly CountedPolicy[]): readonly Part[] {
  const known = new Set(own.counters.map(({ key }) => key));
  return others.flatMap((counted) => {
    const counters = countersBeside(counted, own.counters).filter(({ key }) => !known.has(key));
    for (const { key } of counters) known.add(key);
    return counters.length === 0 ? [] : [{ counted, counters }];
  });
}

/** The limits of the limiter's own policy, and those of the others that are in use. */
export function limitsTold(all: readonly (readonly LimitState[])[]): readonly LimitState[] {
  const [own = [], ...others] = all;
  return [...own, ...others.flat().filter(isUsed)];
}

function isUsed({ limit, remaining, resetAfterMs }: LimitState): boolean {
  return remaining < limit || resetAfterMs > 0;
}
