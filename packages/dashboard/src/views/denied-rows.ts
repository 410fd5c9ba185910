import type { DeniedNetwork } from "@headgate/core/operate";
import type { DeniedRow } from "../api.ts";
import { endMs, toMs } from "../words/time.ts";

/** The entries that have not ended at a time in milliseconds. */
export function deniedAt(
  denied: readonly DeniedNetwork[] = [],
  at: number,
): readonly DeniedNetwork[] {
  return denied.filter(({ until }) => until === null || until > at * 1_000);
}

/** Entries of the deny list. */
export function viewDenied(denied: readonly DeniedNetwork[]): readonly DeniedRow[] {
  return denied.map(({ network, from, until, by, reason }) => ({
    id: network,
    network,
    from: toMs(from),
    until: endMs(until),
    by,
    reason,
  }));
}
