/** A counter's block, past or present, and its escalation level. Times are in microseconds since the epoch. */
export interface Block {
  /** Until then every decision is denied. */
  readonly ends: number;
  /** When the level is forgotten. */
  readonly levelEnds: number;
  /** How many blocks its limits have set since the level was last forgotten, at most 16. */
  readonly level: number;
  /** The limit that set it, from 1 in canonical order; 0 when it was set by hand. */
  readonly setBy: number;
}

/** For a counter without a block. */
export const UNBLOCKED: Block = { ends: 0, levelEnds: 0, level: 0, setBy: 0 };

/** How many more microseconds a block denies; 0 if it has ended. */
export function restOf(block: Block | undefined, now: number): number {
  return block === undefined ? 0 : Math.max(0, block.ends - now);
}

/** When nothing of a block is left. */
export function overAt(block: Block): number {
  return Math.max(block.ends, block.levelEnds);
}

/**
 * The block of a counter after a block by hand of this many microseconds, or 0 to end the existing one; undefined if nothing is
 * left of it. An existing block is never shortened. Twin of block.lua.
 */
export function blockByHand(
  before: Block | undefined,
  span: number,
  now: number,
): Block | undefined {
  const { ends, levelEnds, level } = before ?? UNBLOCKED;
  const block = { ends: span > 0 ? Math.max(ends, now + span) : now, levelEnds, level, setBy: 0 };
  return overAt(block) > now ? block : undefined;
}
