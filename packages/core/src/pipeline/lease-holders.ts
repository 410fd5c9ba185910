import { shareByClient } from "../common/client-state.ts";
import { WeakList } from "../common/weak-list.ts";
import type { SubjectCounter } from "../policy/counters.ts";

/** A limiter in this process that may hold leases. */
export interface LeaseHolder {
  /** Ends its leases of these counters and refunds their units; ignores counters of other limiters. */
  endLeases(counters: readonly SubjectCounter[]): void;
  /** Ends all its leases and refunds their units; it may take new ones. */
  endAllLeases(): void;
}

/** The lease holders of a client in this process. */
export const leaseHoldersOn: (owner: object) => WeakList<LeaseHolder> = shareByClient(
  "leases",
  () => new WeakList<LeaseHolder>(),
);

/** Ends all leases of these counters in this process, whichever limiters of the client hold them. */
export function endLeases(owner: object, counters: readonly SubjectCounter[]): void {
  for (const holder of leaseHoldersOn(owner)) holder.endLeases(counters);
}

/** Ends all leases in this process that limiters of a client hold. */
export function endAllLeases(owner: object): void {
  for (const holder of leaseHoldersOn(owner)) holder.endAllLeases();
}
