import type { Rules } from "./model-rules.ts";
import type { Called } from "./oracle-window.ts";

/** Microseconds. */
export const SECOND = 1_000_000n;
export const DAY: bigint = 86_400n * SECOND;

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
  readonly expires: bigint;
}

/** Where the clock stepped back, what is left stays what it was; and no lease lasts longer than a new one. */
export function atMost(written: Written, { probeTimeout }: Rules, now: bigint): Written {
  const back = written.since > now ? written.since - now : 0n;
  const moved = { since: written.since - back, expires: written.expires - back };
  if (written.kind === "open" || written.kind === "closed") {
    return { ...written, ...moved, until: written.until - back };
  }
  if (written.kind !== "half-open") return { ...written, ...moved };
  const longest = now + probeTimeout + SECOND;
  const leases = written.leases.map(({ id, expires }) =>
    expires < longest ? { id, expires } : { id, expires: longest },
  );
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
