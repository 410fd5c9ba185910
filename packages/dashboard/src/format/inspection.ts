import type { LimitState } from "@headgate/core";
import type { Inspection, SubjectBlock } from "@headgate/core/admin";
import { formatTime } from "./time.ts";

/** The usage of a limit: `api: 3 of 100 used`. */
function formatUsage({ name, limit, remaining, overdrawn, windowMs }: LimitState): string {
  const used = limit - remaining + overdrawn;
  return windowMs === 0
    ? `${name}: ${used} of ${limit} slots taken`
    : `${name}: ${used} of ${limit} used`;
}

/** A block: `blocked by hand until 2026-11-22 23:05:10 UTC`. */
function formatBlock({ per, limit, endsInMs }: SubjectBlock, now: number): string {
  const by = limit === undefined ? "by hand" : `by the limit ${limit}`;
  const where = per === "default" ? "" : ` in ${per}`;
  return `blocked ${by}${where} until ${formatTime(now + endsInMs)}`;
}

/** The usage of each limit, and the blocks, a line each. */
export function formatInspection(
  { limits, blocks }: Pick<Inspection, "limits" | "blocks">,
  now: number,
): readonly string[] {
  const blocked = blocks.map((block) => formatBlock(block, now));
  return [...limits.map(formatUsage), ...(blocked.length === 0 ? ["not blocked"] : blocked)];
}
