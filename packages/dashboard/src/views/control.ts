import type { ControlView } from "../api.ts";
import type { Reading } from "../reading.ts";
import { readBlocks } from "./blocks.ts";
import { viewDenied } from "./denied-rows.ts";
import { viewOverrides } from "./override-rows.ts";

/** Everything in force that operators and limits have set. */
export async function viewControl(reading: Reading): Promise<ControlView> {
  const [{ record }, registry, log, blocks, at] = await Promise.all([
    reading.control(),
    reading.directory(),
    reading.log(),
    readBlocks(reading),
    reading.now(),
  ]);
  return {
    at,
    overrides: viewOverrides(record.overrides, registry, log.entries),
    blocks: blocks.rows,
    blocksKnown: blocks.isWhole,
    denied: viewDenied(record.denied),
  };
}
