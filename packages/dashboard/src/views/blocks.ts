import type { ActiveBlock } from "@headgate/core/operate";
import type { BlockRow } from "../api.ts";
import type { Reading } from "../reading.ts";

/** The blocks in force. */
interface KnownBlocks {
  readonly rows: readonly BlockRow[];
  /** Whether the list is known to be complete. */
  readonly isWhole: boolean;
}

/** The blocks in force. There may be others if a process does not report usage, or if a record cannot be read. */
export async function readBlocks(reading: Reading): Promise<KnownBlocks> {
  const [found, coverage] = await Promise.all([reading.blocks(), reading.coverage()]);
  const { blocks, isWhole, unknown, unread } = found;
  return {
    rows: blocks.map(toRow),
    isWhole: isWhole && unknown === 0 && unread.length === 0 && coverage.silent.length === 0,
  };
}

function toRow(block: ActiveBlock): BlockRow {
  const { limiter, dimension, subject, hash, limit, until, shadow } = block;
  return {
    id: JSON.stringify([limiter, dimension, subject ?? null, hash ?? null, limit ?? null]),
    limiter,
    subject: subject === undefined ? {} : { [dimension]: subject },
    hash,
    until,
    by: block.by,
    reason: block.reason,
    setAs: limit ?? "hand",
    shadow,
  };
}
