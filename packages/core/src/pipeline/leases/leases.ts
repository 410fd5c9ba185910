import type { Duration } from "../../common/time.ts";
import type { Receipt } from "../../operations/refund.ts";

/** How a process leases units for a busy subject, and spends them by itself. */
export interface LeaseOptions {
  /** The maximum number of units leased for one subject: 2 to 1,000,000. */
  readonly max: number;
  /** How long a lease lasts at most: 1 ms to 1 minute. Unspent units are then refunded. */
  readonly ttl: Duration;
}

/** The `lease` option, parsed. Times are in microseconds. */
export interface LeaseSettings {
  /** The maximum number of unspent and pending units of one subject. */
  readonly max: number;
  /** How long a lease lasts at most. */
  readonly ttl: number;
  /** A lease takes at most 1/divisor of the units that remained in the store's last report. */
  readonly divisor: number;
}

/** Units that were charged in the store by one call, to be spent by this process. */
export interface Lease {
  /** The receipt for the charge of all its units. */
  readonly receipt: Receipt;
  /** When the lease was requested. The store decided later, so a time counted from here ends too early, never too late. */
  readonly sentAt: number;
  readonly expiresAt: number;
  /** Unspent units. */
  unspent: number;
}

/** The units that a process holds for one subject, and the numbers that determine the next lease. */
export interface LeaseAccount {
  readonly settings: LeaseSettings;
  /** At most two, oldest first, each with unspent units. */
  readonly leases: Lease[];
  /** The units of the lease that is being requested; 0 if none is. */
  pendingUnits: number;
  /** How many units the next lease takes, if enough remain. */
  nextUnits: number;
  /** The units that remained in the store at its last report. */
  remainingInStore: number;
  /** When a request of the subject last went to the store. */
  lastRequestAt: number;
  /** Set when the leases of the subject were ended: nothing more is spent. */
  isClosed: boolean;
}
