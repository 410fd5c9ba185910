import type { Duration } from "../../base/time.ts";
import type { Receipt } from "../../store/refund.ts";

/** How a process takes units ahead for a busy subject, and spends them by itself. */
export interface LeaseOptions {
  /** The most units held ahead for one subject: 2 to 1,000,000. */
  readonly max: number;
  /** How long they are held at most: 1 ms to 1 minute. What is left then is given back. */
  readonly ttl: Duration;
}

/** How units are leased. Times are in microseconds. */
export interface LeaseRule {
  /** Units held at most, with those being asked for. */
  readonly max: number;
  /** How long a lease lasts at most. */
  readonly ttl: number;
  /** A lease takes at most one in so many of the units that remained in the store's last report. */
  readonly share: number;
}

/** Units that were charged together. */
export interface Lease {
  /** The charge, of all its units. */
  readonly receipt: Receipt;
  /** When the store was asked. It decided later, so a time that is counted from here ends too early, never too late. */
  readonly sent: number;
  readonly until: number;
  /** Units not spent. */
  left: number;
}

/** What a process holds of one subject, and what it knows of how many units to take. */
export interface LeaseAccount {
  readonly rule: LeaseRule;
  /** The oldest first, none without units; two at most. */
  readonly leases: Lease[];
  /** Units being asked for. */
  asking: number;
  /** How many units the next lease takes. */
  size: number;
  /** Units that remained in the store's last report. */
  room: number;
  /** When the store was asked for a request last. */
  asked: number;
  /** Set when its subject was given up or forgotten: nothing is spent any more. */
  isClosed: boolean;
}
