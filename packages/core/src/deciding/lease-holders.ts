import { clientPart } from "../base/client-state.ts";
import { WeakList } from "../base/weak-list.ts";
import type { SubjectCounter } from "../counting/counters.ts";

/** A limiter that holds units ahead of requests. */
export interface LeaseHolder {
  /** Gives up the leases of those of the counters that are its own. */
  close(counters: readonly SubjectCounter[]): void;
  /** Gives up all leases; new ones are taken as before. */
  clear(): void;
}

/** Those in this process that hold leases on a client. */
export const leaseHoldersOn: (owner: object) => WeakList<LeaseHolder> = clientPart(
  "leases",
  () => new WeakList<LeaseHolder>(),
);

/** Gives up all leases of counters in this process, whichever limiters of a client hold them. */
export function closeLeases(owner: object, counters: readonly SubjectCounter[]): void {
  for (const holder of leaseHoldersOn(owner)) holder.close(counters);
}

/** Gives up all leases in this process that limiters of a client hold. */
export function closeAllLeases(owner: object): void {
  for (const holder of leaseHoldersOn(owner)) holder.clear();
}
