import { HeadgateError } from "@headgate/core";
import { toMilliseconds } from "@headgate/core/internal";
import type { BreakerState } from "../machine/period.ts";
import { FORCED_OPEN, OPEN, STATES } from "../machine/period.ts";
import type { CallCounts } from "../machine/window.ts";
import type { Snapshot } from "../snapshot.ts";

/** The reported state of a target. Times are microseconds of the store's clock, as this process reads it. */
export interface TargetView {
  readonly kind: number;
  /** The period's number; 0 for a target that has no record. */
  readonly period: number;
  /** When it was learned. */
  readonly receivedAt: number;
  /** When the period changes by time alone: an open period or a ramp ends, or a place for a trial call comes free. */
  readonly changesAt: number;
  readonly opened: number;
  readonly degraded: boolean;
  /** The whole reply. */
  readonly reply: readonly number[];
}

/** Where the numbers of a reply of contact.lua are. */
const CAUSE = 5;
const COUNTS = 8;
const PERMIT = 11;
const IS_NEW = 12;
const SIZE = 13;

/** Reads a reply of contact.lua or order.lua. Throws `HEADGATE_BAD_REPLY`. */
export function readView(reply: readonly number[], now: number, degraded: boolean): TargetView {
  if (reply.length !== SIZE || STATES[reply[1] as number] === undefined) {
    throw new HeadgateError("HEADGATE_BAD_REPLY", `contact returned ${JSON.stringify(reply)}`);
  }
  return {
    kind: reply[1] as number,
    period: reply[2] as number,
    receivedAt: now,
    changesAt: now + (reply[3] as number),
    opened: reply[4] as number,
    degraded,
    reply,
  };
}

/** The answer to a call: 0 no, -1 yes, or the lease of a trial call. */
export function readPermit(reply: readonly number[]): number {
  return reply[PERMIT] as number;
}

/** Whether the contact began the period. */
export function isNewPeriod({ reply }: TargetView): boolean {
  return reply[IS_NEW] === 1;
}

/** The calls that caused the period. */
export function causeOf({ reply }: TargetView): CallCounts {
  return countsAt(reply, CAUSE);
}

export function stateOf({ kind }: TargetView): BreakerState {
  return STATES[kind] as BreakerState;
}

/** Shares of calls, 0 to 1; null without calls. */
export function ratesOf({ calls, failures, slow }: CallCounts): {
  readonly successRate: number | null;
  readonly slowRate: number | null;
} {
  if (calls === 0) return { successRate: null, slowRate: null };
  return { successRate: (calls - failures) / calls, slowRate: slow / calls };
}

/** A ramp lets one call in ten through, and trial calls usually end long before their leases, so no longer wait is needed. */
const MAX_RETRY_AFTER_MS = 1_000;

/** When to ask again if a target lets no call through: milliseconds, rounded up; Infinity if it was opened by hand. */
export function retryAfterMsOf({ kind, changesAt, receivedAt }: TargetView, now: number): number {
  if (kind === FORCED_OPEN) return Number.POSITIVE_INFINITY;
  const left = Math.max(toMilliseconds(changesAt - Math.max(now, receivedAt)), 1);
  return kind === OPEN ? left : Math.min(left, MAX_RETRY_AFTER_MS);
}

export function toSnapshot(view: TargetView): Snapshot {
  const counts = countsAt(view.reply, COUNTS);
  const { calls, failures, slow } = counts;
  return {
    state: stateOf(view),
    calls,
    successes: calls - failures,
    failures,
    slow,
    ...ratesOf(counts),
    opened: view.opened,
    retryAfterMs: view.kind === OPEN ? toMilliseconds(view.changesAt - view.receivedAt) : 0,
    degraded: view.degraded,
  };
}

function countsAt(reply: readonly number[], at: number): CallCounts {
  return {
    calls: reply[at] as number,
    failures: reply[at + 1] as number,
    slow: reply[at + 2] as number,
  };
}

/** Whether earlier calls have become irrelevant; not if only the place of counting changed. */
export function isNewGeneration(before: TargetView, view: TargetView): boolean {
  if (before.kind !== view.kind) return true;
  return before.period !== view.period && before.degraded === view.degraded && view.period !== 0;
}
