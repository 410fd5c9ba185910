import type { Called } from "./oracle-window.ts";

/** Microseconds. */
export const DAY = 86_400_000_000n;

export type ByHand = "forced-open" | "disabled" | "metrics-only";

/** The period in which a call was admitted, and the lease of a trial call. */
export interface ModelPermit {
  readonly period: number;
  readonly lease: number | undefined;
  /** How often the target had changed. */
  readonly changes: number;
}

/** The record of a target. A closed target that was never opened or reset has none. */
export type Written = WrittenClosed | WrittenOpen | WrittenHalfOpen | WrittenByHand;

interface WrittenPeriod {
  readonly period: number;
  readonly since: bigint;
  /** When the record expires. */
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

/** Keeps the rest of periods and leases within their full length when the clock has stepped back. */
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
