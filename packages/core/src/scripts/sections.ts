import type { LimitShape } from "../algorithms/algorithm.ts";
import { parts } from "./lua.generated.ts";

/* The sections of the Lua files from which scripts are composed. A missing section is an empty text. */

/** The sections that a limit has in addition to those of its algorithm, because it blocks or notifies. */
export function extensionSectionsOf(
  { blocksOnSettle, countsDenials, blocksOnDenial, notifies }: LimitShape,
  section: string,
): readonly string[] {
  const kind = blocksOnSettle
    ? "confirmed"
    : countsDenials
      ? "denials"
      : blocksOnDenial
        ? "denial"
        : undefined;
  const ofBlocking =
    kind && (findSection("blocks", `${kind}-${section}`) || findSection("blocks", section));
  return [ofBlocking ?? "", notifies ? findSection("thresholds", section) : ""];
}

/** A section that such sections include. */
export function extensionSection(section: string): string {
  return findSection("blocks", section) || findSection("thresholds", section);
}

export function findSection(part: string, section: string): string {
  return parts[part]?.[section] ?? "";
}
