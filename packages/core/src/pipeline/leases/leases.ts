import type { Duration } from "../../common/time.ts";
import type { Receipt } from "../../operations/refund.ts";

/** How a process leases units for a busy subject, and spends them by itself. */
export interface LeaseOptions {
  /** The most units leased for one subject: 2 to 1,000,000. */
  readonly max: number;
  /** How long a lease lasts at most: 1 ms to 1 minute. Unspent units are then refunded. */
  readonly ttl: Duration;
}

/** How units are leased. Times are in microseconds. */
export interface LeaseSettings {
  /** The most units held, including those being requested. */
  readonly max: number;
  /** How long a lease lasts at most. */
  readonly ttl: number;
  /** A lease takes at most 1/share of the units that remained in the store's last report. */
  readonly divisor: number;
}

/** Units that were charged together. */
export interface Lease {
  /** The receipt for the charge of all its units. */
  readonly receipt: Receipt;
  /** When the store was asked. It decided later, so a time counted from here ends too early, never too late. */
  readonly sentAt: number;
  readonly expiresAt: number;
  /** Unspent units. */
  unspent: number;
}

/** The units that a process holds for one subject, and the numbers that determine the next lease. */
export interface LeaseAccount {
  readonly settings: LeaseSettings;
  /** Oldest first, at most two, each with units left. */
  readonly leases: Lease[];
  /** Units being requested. */
  pendingUnits: number;
  /** How many units the next lease takes. */
  nextUnits: number;
  /** Units that remained in the store's last report. */
  remainingInStore: number;
  /** When the store was last asked for a request. */
  lastRequestAt: number;
  /** Set when the subject was closed or forgotten: nothing more is spent. */
  isClosed: boolean;
}
