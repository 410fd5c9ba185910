import type { CompiledLimit } from "../../algorithms/algorithm.ts";
import type { LimitState } from "../../common/decision.ts";
import type { Receipt } from "../../operations/refund.ts";
import type { LimitGroup } from "../../policy/compiled-policy.ts";
import {
  COUNTER_HEADER,
  decodeLimitState,
  NUMBERS_PER_LIMIT,
  REPLY_HEADER,
} from "../decode-reply.ts";
import { leaseTtl } from "./lease-account.ts";
import type { Lease, LeaseSettings } from "./leases.ts";

/** The store's report on a subject's limits, from the last request for a lease. */
export interface StoreReport {
  /** The reply to a decision on one counter. */
  readonly reply: readonly number[];
  /** When the reply arrived, in microseconds. Times counted from here are reported too long, never too short. */
  readonly receivedAt: number;
}

/** The lease that the store granted. `sentAt` is when it was requested, before the store decided. */
export function leaseOf(
  settings: LeaseSettings,
  { limits }: LimitGroup,
  receipt: Receipt,
  reply: readonly number[],
  sentAt: number,
): Lease {
  const resets = limits.map((_, i) => reply[offsetOf(i) + 2] as number);
  const expiresAt = sentAt + leaseTtl(settings, limits, resets);
  return { receipt, sentAt, expiresAt, unspent: receipt.cost };
}

/** The fewest units that remain in any limit. */
export function remainingUnits(group: LimitGroup, reply: readonly number[]): number {
  return Math.min(...group.limits.map((_, i) => reply[offsetOf(i) + 1] as number));
}

/**
 * The limits of a decision that a lease pays: the store's last report, plus the `unspent` leased units, less the time since the
 * report.
 */
export function reportedLimits(
  group: LimitGroup,
  report: StoreReport,
  unspent: number,
  now: number,
): LimitState[] {
  const elapsed = Math.max(0, Math.floor(now - report.receivedAt));
  const states: LimitState[] = new Array(group.limits.length);
  for (let i = 0; i < group.limits.length; i += 1) {
    const limit = group.limits[i] as CompiledLimit;
    const at = offsetOf(i);
    states[group.positions[i] as number] = decodeLimitState(
      limit,
      report.reply[0] as number,
      0,
      Math.min(limit.limit, (report.reply[at + 1] as number) + unspent),
      timeLeft(report.reply[at + 2] as number, elapsed),
      timeLeft(report.reply[at + 3] as number, elapsed),
    );
  }
  return states;
}

function offsetOf(limit: number): number {
  return REPLY_HEADER + COUNTER_HEADER + limit * NUMBERS_PER_LIMIT;
}

/** At least 1 µs: a charged limit has not recovered fully. */
function timeLeft(time: number, elapsed: number): number {
  return Math.max(1, time - elapsed);
}
