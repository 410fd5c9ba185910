import { isIP } from "node:net";
import type { DeniedNetwork, SubjectQuery } from "@headgate/core/admin";
import type { CommandContext } from "../command/cli.ts";
import type { Session } from "../connect/session.ts";
import { printSection } from "../output/section.ts";
import { formatDenyListEntry } from "./format-inspection.ts";

/** An address, and the entries of the deny list that contain it. */
export interface DeniedAddress {
  readonly address: string;
  readonly entries: readonly DeniedNetwork[];
}

/** The address that is meant, if the deny list has it. Rejects as `operator.denyList`. */
export async function findDeniedAddress(
  { admin }: Session,
  { ip, text, named }: SubjectQuery,
): Promise<DeniedAddress | undefined> {
  // A subject of IPv6 is a network: its first address stands for it.
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
    "unless a limiter's own allowList has it",
  ]);
}
