import type { LimitShape } from "../algorithms/algorithm.ts";
import { parts } from "./lua.generated.ts";

/* The sections of the files in Lua from which scripts are put together; empty where there is none of a name. */

/** The sections that a limit has because it blocks, and because it notifies. */
export function besideOf(
  { keeps, countsDenials, blocks, notifies }: LimitShape,
  section: string,
): readonly string[] {
  const kind = keeps ? "kept" : countsDenials ? "denials" : blocks ? "denial" : undefined;
  const ofBlocking =
    kind && (sectionIn("blocks", `${kind}-${section}`) || sectionIn("blocks", section));
  return [ofBlocking ?? "", notifies ? sectionIn("thresholds", section) : ""];
}

/** A section that is included by those. */
export function sectionBeside(section: string): string {
  return sectionIn("blocks", section) || sectionIn("thresholds", section);
}

export function sectionIn(part: string, section: string): string {
  return parts[part]?.[section] ?? "";
}
