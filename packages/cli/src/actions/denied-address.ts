import { isIP } from "node:net";
import type { DeniedNetwork, SubjectQuery } from "@headgate/core/admin";
import type { CommandContext } from "../command/cli.ts";
import type { Session } from "../connect/session.ts";
import { printSection } from "../output/section.ts";
import { formatDenyListEntry } from "./format-inspection.ts";

/** An address, and the deny-list entries that contain it. */
export interface DeniedAddress {
  readonly address: string;
  readonly entries: readonly DeniedNetwork[];
}

/** The address in the query, if the deny list has it. Rejects like `admin.denyList`. */
export async function findDeniedAddress(
  { admin }: Session,
  { ip, text, named }: SubjectQuery,
): Promise<DeniedAddress | undefined> {
  // The subject of an IPv6 client is a network: check its first address.
  const candidates = [ip, text, ...(named?.values() ?? [])].map((one) =>
    one?.split("/")[0]?.replace(/%.*$/s, ""),
  );
  const address = candidates.find((one) => one !== undefined && isIP(one) !== 0);
  if (address === undefined) return undefined;
  const entries = await admin.denyList(address);
  return entries.length === 0 ? undefined : { address, entries };
}

export function printDeniedAddress(
  { address, entries }: DeniedAddress,
  { now }: Session,
  context: CommandContext,
): void {
  printSection(context, `${address} is on the deny list: 403 in every HTTP limiter`, [
    ...entries.map((entry) => formatDenyListEntry(entry, now())),
    "limiters with the address in their own allowList still admit it",
  ]);
}
