import type { ControlView } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { loadBlockRows } from "./blocks.ts";
import { toDenyListRows } from "./deny-list-rows.ts";
import { toOverrideRows } from "./override-rows.ts";

/** The overrides, blocks and deny-list entries in force. */
export async function buildControlView(reader: FleetReader): Promise<ControlView> {
  const [{ record }, registry, log, blocks, at] = await Promise.all([
    reader.loadControl(),
    reader.loadRegistry(),
    reader.loadLog(),
    loadBlockRows(reader),
    reader.serverTime(),
  ]);
  return {
    at,
    overrides: toOverrideRows(record.overrides, registry, log.entries),
    blocks: blocks.rows,
    hasAllBlocks: blocks.isComplete,
    denyList: toDenyListRows(record.denyList),
  };
}
