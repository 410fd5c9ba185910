import type { ActiveBlock } from "@headgate/core/admin";
import type { BlockRow } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";

/** The blocks in force. */
interface BlockList {
  readonly rows: readonly BlockRow[];
  /** Whether the list is known to be complete. */
  readonly isComplete: boolean;
}

/** The blocks in force. There may be others if a process does not report usage, or if a record cannot be read. */
export async function loadBlockRows(reader: FleetReader): Promise<BlockList> {
  const [found, coverage] = await Promise.all([reader.loadBlocks(), reader.loadCoverage()]);
  const { blocks, isComplete, uncheckedCount, unreadable } = found;
  return {
    rows: blocks.map(toRow),
    isComplete:
      isComplete && uncheckedCount === 0 && unreadable.length === 0 && coverage.silent.length === 0,
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
    limit,
    shadow,
  };
}
