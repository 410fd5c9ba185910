import type { DeniedNetwork } from "@headgate/core/admin";
import { toMilliseconds } from "@headgate/core/internal";
import type { DenyListRow } from "../api.ts";
import { endMs } from "../format/time.ts";

/** Entries of the deny list. */
export function toDenyListRows(denied: readonly DeniedNetwork[] = []): readonly DenyListRow[] {
  return denied.map(({ network, from, until, by, reason }) => ({
    id: network,
    network,
    from: toMilliseconds(from),
    until: endMs(until),
    by,
    reason,
  }));
}
