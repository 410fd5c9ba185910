import { shareByClient } from "../common/client-state.ts";
import { WeakList } from "../common/weak-list.ts";
import type { SubjectCounter } from "../policy/counters.ts";

/** A limiter that holds leased units. */
export interface LeaseHolder {
  /** Returns its leases for these counters; other counters are ignored. */
  endLeases(counters: readonly SubjectCounter[]): void;
  /** Returns all leases; new ones can still be taken. */
  endAllLeases(): void;
}

/** The lease holders on a client, in this process. */
export const leaseHoldersOn: (owner: object) => WeakList<LeaseHolder> = shareByClient(
  "leases",
  () => new WeakList<LeaseHolder>(),
);

/** Returns all leases in this process for these counters, whichever limiters of the client hold them. */
export function endLeases(owner: object, counters: readonly SubjectCounter[]): void {
  for (const holder of leaseHoldersOn(owner)) holder.endLeases(counters);
}

/** Returns all leases in this process held by limiters of a client. */
export function endAllLeases(owner: object): void {
  for (const holder of leaseHoldersOn(owner)) holder.endAllLeases();
}
