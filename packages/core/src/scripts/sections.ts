import type { LimitShape } from "../algorithms/algorithm.ts";
import { parts } from "./lua.generated.ts";

/* The sections of the Lua files from which scripts are composed; empty if there is none of that name. */

/** The sections that a limit has because it blocks or notifies. */
export function siblingOf(
  { keeps, countsDenials, blocks, notifies }: LimitShape,
  section: string,
): readonly string[] {
  const kind = keeps ? "kept" : countsDenials ? "denials" : blocks ? "denial" : undefined;
  const ofBlocking =
    kind && (sectionIn("blocks", `${kind}-${section}`) || sectionIn("blocks", section));
  return [ofBlocking ?? "", notifies ? sectionIn("thresholds", section) : ""];
}

/** A section that those include. */
export function siblingSection(section: string): string {
  return sectionIn("blocks", section) || sectionIn("thresholds", section);
}

export function sectionIn(part: string, section: string): string {
  return parts[part]?.[section] ?? "";
}
