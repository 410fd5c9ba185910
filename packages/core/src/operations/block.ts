/** A counter's block, past or present, and its escalation level. Times are in microseconds since the epoch. */
export interface Block {
  /** Until then every decision is denied. */
  readonly endsAt: number;
  /** When the level is forgotten. */
  readonly levelEndsAt: number;
  /** How many blocks its limits have set since the level was last forgotten, at most 16. */
  readonly level: number;
  /** The limit that set it, from 1 in canonical order; 0 when it was set by hand. */
  readonly setBy: number;
}

/** For a counter without a block. */
export const UNBLOCKED: Block = { endsAt: 0, levelEndsAt: 0, level: 0, setBy: 0 };

/** How many more microseconds a block denies; 0 if it has ended. */
export function remainingMicrosOf(block: Block | undefined, now: number): number {
  return block === undefined ? 0 : Math.max(0, block.endsAt - now);
}

/** When nothing of a block is left. */
export function expiryOf(block: Block): number {
  return Math.max(block.endsAt, block.levelEndsAt);
}

/**
 * The block of a counter after a block by hand of this many microseconds, or 0 to end the existing one; undefined if nothing is
 * left of it. An existing block is never shortened. Twin of block.lua.
 */
export function applyManualBlock(
  before: Block | undefined,
  duration: number,
  now: number,
): Block | undefined {
  const { endsAt, levelEndsAt, level } = before ?? UNBLOCKED;
  const block = {
    endsAt: duration > 0 ? Math.max(endsAt, now + duration) : now,
    levelEndsAt,
    level,
    setBy: 0,
  };
  return expiryOf(block) > now ? block : undefined;
}
