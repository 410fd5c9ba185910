import { formatReceived } from "../errors.ts";
import type { Limit } from "../policy.ts";
import { MAX_DURATION_MS, parseDuration } from "../time.ts";
import type { CompiledLimit } from "./algorithm.ts";
import { readWindow, rejectLimit } from "./read-limit.ts";

/** The most blocks in a list: in the scripts, LEVELS. */
export const LEVELS = 16;

/**
 * A limit with its option `block`. Whether a limit blocks is part of its shape, but the duration is not: a changed duration
 * continues the count. Throws `HEADGATE_INVALID_LIMIT`.
 */
export function withBlock(limit: Limit, compiled: CompiledLimit): CompiledLimit {
  if (limit.algorithm === "concurrency" || limit.block === undefined) return compiled;
  const spans = readSpans(limit, limit.block);
  const { shape, canonical } = compiled;
  return {
    ...compiled,
    block: { spans, quiet: quietOf(limit, compiled) },
    shape: { ...shape, id: `${shape.id}!`, blocks: true },
    canonical: `${canonical}!(${spans})`,
  };
}

function readSpans(limit: Limit, block: unknown): number[] {
  const list: readonly unknown[] = Array.isArray(block) ? block : [block];
  if (list.length < 1 || list.length > LEVELS) {
    rejectLimit(
      limit,
      `block must be a duration or a list of 1 to ${LEVELS}, got ${formatReceived(block)}`,
    );
  }
  // By index, so that a hole in the list is an error too.
  return Array.from({ length: list.length }, (_, i) =>
    parseDuration(list[i], `${limit.algorithm}: block`, "HEADGATE_INVALID_LIMIT"),
  );
}

/**
 * How long the level is kept without another block: the window, or the time in which all units come back if that is longer;
 * for a calendar window, the longest that it can last.
 */
function quietOf(limit: Limit, { windowMs, calendar }: CompiledLimit): number {
  const longest = Math.min(windowMs, MAX_DURATION_MS) * 1_000;
  if (calendar !== undefined) return longest;
  return Math.max(longest, readWindow(limit, "every" in limit ? "every" : "window"));
}
