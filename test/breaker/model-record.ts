import type { Called } from "./oracle-window.ts";

/** Microseconds. */
export const DAY = 86_400_000_000n;

export type ByHand = "forced-open" | "disabled" | "metrics-only";

/** Where a call was let through: the period, and its lease when it was a trial. */
export interface ModelPermit {
  readonly period: number;
  readonly lease: number | undefined;
  /** How often the target had changed. */
  readonly changes: number;
}

/** What is written of a target; nothing is, while it is closed and nobody opened or reset it. */
export type Written = WrittenClosed | WrittenOpen | WrittenHalfOpen | WrittenByHand;

interface WrittenPeriod {
  readonly period: number;
  readonly since: bigint;
  /** When all of it is as good as absent. */
  readonly expires: bigint;
  readonly opened: number;
}

interface WrittenClosed extends WrittenPeriod {
  readonly kind: "closed";
  /** When its ramp ends. */
  readonly until: bigint;
}

interface WrittenOpen extends WrittenPeriod {
  readonly kind: "open";
  readonly until: bigint;
}

interface WrittenHalfOpen extends WrittenPeriod {
  readonly kind: "half-open";
  readonly outcomes: readonly Called[];
  readonly leases: readonly Lease[];
}

interface WrittenByHand extends WrittenPeriod {
  readonly kind: ByHand;
}

export interface Lease {
  readonly id: number;
  readonly since: bigint;
  readonly expires: bigint;
}

/** Where the clock stepped back, what is left of a period or of a lease stays what it was when it began. */
export function stepBack(written: Written, now: bigint): Written {
  const back = written.since > now ? written.since - now : 0n;
  const moved = { since: written.since - back, expires: written.expires - back };
  if (written.kind === "open" || written.kind === "closed") {
    return { ...written, ...moved, until: written.until - back };
  }
  if (written.kind !== "half-open") return { ...written, ...moved };
  const leases = written.leases.map((lease) => {
    const { id, since, expires } = lease;
    return since > now ? { id, since: now, expires: expires - (since - now) } : lease;
  });
  return { ...written, ...moved, leases };
}

export function isByHand(written: Written): written is WrittenByHand {
  return !["closed", "open", "half-open"].includes(written.kind);
}

export function unexpired(leases: readonly Lease[], now: bigint): Lease[] {
  return leases.filter(({ expires }) => expires > now);
}

export function holds(leases: readonly Lease[], { lease }: ModelPermit, now: bigint): boolean {
  return unexpired(leases, now).some(({ id }) => id === lease);
}
