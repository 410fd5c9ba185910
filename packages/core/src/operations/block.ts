/** Who set a block: an operator, or a limit of the counter, by its number from 1 in canonical order. */
export type BlockSource = "operator" | number;

/** The block of a counter, current or ended, and its escalation level. Times are microseconds since the epoch. */
export interface Block {
  /** Every decision before this time is denied. */
  readonly endsAt: number;
  /** When the level is forgotten. */
  readonly levelEndsAt: number;
  /** The blocks that its limits have set since the level was last forgotten, at most 16. */
  readonly level: number;
  readonly setBy: BlockSource;
}

/** The block of a counter that was never blocked. */
export const UNBLOCKED: Block = { endsAt: 0, levelEndsAt: 0, level: 0, setBy: "operator" };

/** Microseconds until a block ends; 0 if there is none, or it has ended. */
export function remainingMicrosOf(block: Block | undefined, now: number): number {
  return block === undefined ? 0 : Math.max(0, block.endsAt - now);
}

/** The time at which both the block and its level have ended. */
export function expiryOf(block: Block): number {
  return Math.max(block.endsAt, block.levelEndsAt);
}

/**
 * The block of a counter after a manual block of `duration` microseconds, where 0 ends the existing block; undefined if
 * neither a block nor a level is left. An existing block is never shortened. Twin of block.lua.
 */
export function applyManualBlock(
  before: Block | undefined,
  duration: number,
  now: number,
): Block | undefined {
  const { endsAt, levelEndsAt, level } = before ?? UNBLOCKED;
  const block: Block = {
    endsAt: duration > 0 ? Math.max(endsAt, now + duration) : now,
    levelEndsAt,
    level,
    setBy: "operator",
  };
  return expiryOf(block) > now ? block : undefined;
}
