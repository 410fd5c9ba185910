import type { CompiledLimit } from "../../algorithms/algorithm.ts";
import type { LimitState } from "../../common/decision.ts";
import type { Receipt } from "../../operations/refund.ts";
import type { DimensionLimits } from "../../policy/compiled-policy.ts";
import { COUNTER_HEAD, LIMIT_NUMBERS, REPLY_HEAD, readState } from "../decode-reply.ts";
import { leaseTime } from "./lease-book.ts";
import type { Lease, LeaseRule } from "./leases.ts";

/** The store's report on a subject's limits, from the last request for a lease. */
export interface Reported {
  /** The reply to a decision on one counter. */
  readonly reply: readonly number[];
  /** When the reply arrived, in microseconds. Times counted from here are reported too long, never too short. */
  readonly received: number;
}

/** The lease that the store granted. `sent` is when it was requested, before the store decided. */
export function leaseOf(
  rule: LeaseRule,
  { limits }: DimensionLimits,
  receipt: Receipt,
  reply: readonly number[],
  sent: number,
): Lease {
  const resets = limits.map((_, i) => reply[offsetOf(i) + 2] as number);
  const until = sent + leaseTime(rule, limits, resets);
  return { receipt, sent, until, left: receipt.cost };
}

/** Units that remain in the limit that has the fewest. */
export function roomOf(group: DimensionLimits, reply: readonly number[]): number {
  return Math.min(...group.limits.map((_, i) => reply[offsetOf(i) + 1] as number));
}

/**
 * The limits as reported to a request that a lease pays: the store's last report, plus the `held` units, less the time that has
 * passed.
 */
export function limitsFrom(
  group: DimensionLimits,
  last: Reported,
  held: number,
  now: number,
): LimitState[] {
  const elapsed = Math.max(0, Math.floor(now - last.received));
  const states: LimitState[] = new Array(group.limits.length);
  for (let i = 0; i < group.limits.length; i += 1) {
    const limit = group.limits[i] as CompiledLimit;
    const at = offsetOf(i);
    states[group.positions[i] as number] = readState(
      limit,
      last.reply[0] as number,
      0,
      Math.min(limit.limit, (last.reply[at + 1] as number) + held),
      left(last.reply[at + 2] as number, elapsed),
      left(last.reply[at + 3] as number, elapsed),
    );
  }
  return states;
}

function offsetOf(limit: number): number {
  return REPLY_HEAD + COUNTER_HEAD + limit * LIMIT_NUMBERS;
}

/** Only an unused limit has no time left, and a charged one is not unused. */
function left(time: number, elapsed: number): number {
  return Math.max(1, time - elapsed);
}
