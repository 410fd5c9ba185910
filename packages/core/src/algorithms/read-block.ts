import { formatReceived } from "../errors.ts";
import { isPlainObject } from "../plain-object.ts";
import type { Limit } from "../policy.ts";
import { MAX_DURATION_MS, parseDuration } from "../time.ts";
import type { BlockRule, CompiledLimit } from "./algorithm.ts";
import { withCountedDenials } from "./counted-denials.ts";
import { readWindow, rejectLimit } from "./read-limit.ts";

/** The most blocks in a list: in the scripts, LEVELS. */
export const LEVELS = 16;

/** The most denials before a block: in the scripts, 3 digits of 7 bits, and 3 bytes of the state. */
const MOST_DENIALS = 1_000_000;

/**
 * A limit with its option `block`. Whether a limit blocks, and whether its first denial does, is part of its shape. How many
 * denials, and for how long, is not: with other numbers, the count continues. Throws `HEADGATE_INVALID_LIMIT`.
 */
export function withBlock(limit: Limit, compiled: CompiledLimit): CompiledLimit {
  if (limit.algorithm === "concurrency" || limit.block === undefined) return compiled;
  const block = readRule(limit, limit.block, quietOf(limit, compiled));
  const { after, spans } = block;
  const { shape, canonical } = compiled;
  const blocking = {
    ...compiled,
    block,
    shape: { ...shape, id: `${shape.id}!`, blocks: true },
    canonical: `${canonical}!(${spans})`,
  };
  return after === undefined ? blocking : withCountedDenials(blocking, after);
}

function readRule(limit: Limit, block: unknown, quiet: number): BlockRule {
  if (!isPlainObject(block)) return { spans: readSpans(limit, "block", block), quiet };
  const { after, for: lengths, ...others } = block;
  for (const option of Object.keys(others)) {
    rejectLimit(limit, `block: unknown option ${formatReceived(option)}; it takes after, for`);
  }
  if (!Number.isInteger(after) || (after as number) < 1 || (after as number) > MOST_DENIALS) {
    rejectLimit(
      limit,
      `block: after must be a whole number of denials from 1 to ${MOST_DENIALS}, got ${formatReceived(after)}`,
    );
  }
  return { spans: readSpans(limit, "block: for", lengths), quiet, after: after as number };
}

function readSpans(limit: Limit, option: string, lengths: unknown): number[] {
  const list: readonly unknown[] = Array.isArray(lengths) ? lengths : [lengths];
  if (list.length < 1 || list.length > LEVELS) {
    rejectLimit(
      limit,
      `${option} must be a duration or a list of 1 to ${LEVELS}, got ${formatReceived(lengths)}`,
    );
  }
  // By index, so that a hole in the list is an error too.
  return Array.from({ length: list.length }, (_, i) =>
    parseDuration(list[i], `${limit.algorithm}: ${option}`, "HEADGATE_INVALID_LIMIT"),
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
