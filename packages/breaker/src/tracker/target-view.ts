import { HeadgateError } from "@headgate/core";
import { toMilliseconds } from "@headgate/core/internal";
import type { Snapshot } from "../channels.ts";
import type { CallCounts } from "../machine/breaker-policy.ts";
import type { TargetReply } from "../machine/wire.ts";
import { decodeReply } from "../machine/wire.ts";

/** The reported state of a target. Times are microseconds of the store's clock, as this process reads it. */
export interface TargetView extends TargetReply {
  /** When the reply was received. */
  readonly receivedAt: number;
  /** When the period changes by time alone. */
  readonly changesAt: number;
  readonly degraded: boolean;
  /** Numbers the requests of this process in the order in which they were sent. */
  readonly sequence: number;
}

/** Decodes a reply of sync-target.lua or set-target-state.lua. Throws `HEADGATE_BAD_REPLY`. */
export function readView(
  reply: readonly number[],
  now: number,
  degraded: boolean,
  sequence: number,
): TargetView {
  const decoded = decodeReply(reply);
  if (decoded === undefined) {
    throw new HeadgateError("HEADGATE_BAD_REPLY", `sync-target returned ${JSON.stringify(reply)}`);
  }
  const changesAt = now + decoded.remainingMicros;
  return { ...decoded, receivedAt: now, changesAt, degraded, sequence };
}

/** Shares of calls, 0 to 1; null without calls. */
export function ratesOf({ calls, failures, slowCalls }: CallCounts): {
  readonly successRate: number | null;
  readonly slowCallRate: number | null;
} {
  if (calls === 0) return { successRate: null, slowCallRate: null };
  return { successRate: (calls - failures) / calls, slowCallRate: slowCalls / calls };
}

/** A ramp admits at least one call in ten, and trial calls usually end long before their leases, so no longer wait is needed. */
const MAX_RETRY_AFTER_MS = 1_000;

/** Milliseconds until a target that rejects calls may allow one, rounded up; Infinity after `forceOpen`. */
export function retryAfterMsOf({ state, changesAt, receivedAt }: TargetView, now: number): number {
  if (state === "forced-open") return Number.POSITIVE_INFINITY;
  const left = Math.max(toMilliseconds(changesAt - Math.max(now, receivedAt)), 1);
  return state === "open" ? left : Math.min(left, MAX_RETRY_AFTER_MS);
}

export function toSnapshot(view: TargetView): Snapshot {
  const { calls, failures, slowCalls } = view.window;
  return {
    state: view.state,
    calls,
    successes: calls - failures,
    failures,
    slowCalls,
    ...ratesOf(view.window),
    openings: view.openings,
    retryAfterMs: view.state === "open" ? toMilliseconds(view.changesAt - view.receivedAt) : 0,
    degraded: view.degraded,
  };
}

/** Whether earlier calls have become irrelevant; not if the counts only moved between the store and this process. */
export function isNewGeneration(before: TargetView, view: TargetView): boolean {
  if (before.state !== view.state) return true;
  return before.period !== view.period && before.degraded === view.degraded && view.period !== 0;
}
