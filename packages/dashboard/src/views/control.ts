import type {
  ActiveBlock,
  DeniedNetwork,
  LogEntry,
  Override,
  Registry,
} from "@headgate/core/admin";
import { formatOverride, formatOverrideKey, overrideCoverageOf } from "@headgate/core/admin";
import { toMilliseconds } from "@headgate/core/internal";
import type { BlockRow, ControlView, DenyListRow, OverrideRow } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { formatIgnoredReasons, textOf } from "../format/state.ts";
import { endMs } from "../format/time.ts";
import { indexNewestEntries } from "./log.ts";

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
    limit,
    shadow,
    ...originOf(block),
  };
}

/** Who set a manual block, and why. An operator's block whose entry has left the log has no reason; the application has no log. */
export function originOf({
  by,
  reason,
  setAt,
}: ActiveBlock): Pick<BlockRow, "by" | "reason" | "setBy"> {
  if (setAt !== undefined) return { by, reason, setBy: "operator" };
  return reason === undefined ? {} : { reason, setBy: "application" };
}

/** Entries of the deny list. */
export function toDenyListRows(denied: readonly DeniedNetwork[] = []): readonly DenyListRow[] {
  return denied.map(({ network, from, until, by, reason }) => ({
    id: network,
    network,
    from: toMilliseconds(from),
    until: endMs(until),
    by,
    reason,
  }));
}

/** Overrides with the processes that apply them and, from the log, who set them and why. */
export function toOverrideRows(
  overrides: readonly Override[],
  registry: Registry,
  log: readonly LogEntry[],
): readonly OverrideRow[] {
  const newestSetEntry = indexNewestEntries(log, "setOverride");
  return overrides.map((override): OverrideRow => {
    const { limiter, subject, from, until } = override;
    const coverage = overrideCoverageOf(override, registry);
    const { by, reason } = newestSetEntry(limiter, subject) ?? {};
    return {
      id: formatOverrideKey(override),
      limiter,
      subject,
      change: formatOverride(override),
      from: toMilliseconds(from),
      until: endMs(until),
      by: textOf(by),
      reason: textOf(reason),
      coverage: coverage.state,
      appliedBy: coverage.applyingProcesses,
      ignoredReasons: formatIgnoredReasons(coverage),
    };
  });
}
