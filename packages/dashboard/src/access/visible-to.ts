import type {
  ActiveBlocks,
  ControlRecord,
  DeniedNetwork,
  LogEntry,
  Registry,
  UsageCoverage,
  UsageSummary,
} from "@headgate/core/admin";
import type { FleetReader } from "../fleet-reader.ts";
import type { Visitor } from "./visitor.ts";

/**
 * A reader that leaves out all data about limiters that are hidden from the visitor. It also leaves out counts of unreadable
 * records, because such a record may belong to a hidden limiter.
 */
export function visibleTo(reader: FleetReader, given: Visitor): FleetReader {
  if (!given.isRestricted) return reader;
  const answers = new Map<string, boolean>();
  const visitor: Visitor = {
    ...given,
    canSee(name) {
      const answer = answers.get(name) ?? given.canSee(name);
      answers.set(name, answer);
      return answer;
    },
  };
  const loadRegistry: FleetReader["loadRegistry"] = async () =>
    visibleRegistry(await reader.loadRegistry(), visitor);
  return {
    ...reader,
    shareResult: (key, load, make) =>
      reader.shareResult(key, load, make, { canSee: given.canSee, answers }),
    loadRegistry,
    loadUsage: async (span) => visibleUsage(await reader.loadUsage(span), visitor),
    loadLimiterUsage: async (limiter, span) =>
      visibleUsage(await reader.loadLimiterUsage(limiter, span), visitor),
    loadBlocks: async () => visibleBlocks(await reader.loadBlocks(), visitor),
    loadCoverage: async () => visibleCoverage(await reader.loadCoverage(), await loadRegistry()),
    async loadControl() {
      const { record, latencyMs } = await reader.loadControl();
      return { record: visibleControlRecord(record, visitor), latencyMs };
    },
    findDenyListEntries: async (address) =>
      (await reader.findDenyListEntries(address)).map(withoutReason),
    outage() {
      const outage = reader.outage();
      if (outage === undefined) return undefined;
      const limiters = outage.limiters.filter(({ name }) => visitor.canSee(name));
      return { ...outage, servers: [], limiters };
    },
    async loadLog() {
      const { entries } = await reader.loadLog();
      return { entries: entries.flatMap((entry) => visibleEntry(entry, visitor)), unreadable: 0 };
    },
  };
}

function visibleRegistry(
  { limiters, breakers, processes }: Registry,
  { canSee }: Visitor,
): Registry {
  const visibleLimiters = limiters
    .filter(({ name }) => canSee(name))
    .map((one) =>
      one.extends === undefined || canSee(one.extends) ? one : { ...one, extends: undefined },
    );
  const visibleBreakers = breakers.filter(({ name }) => canSee(name));
  const ids = new Set([...visibleLimiters, ...visibleBreakers].flatMap((one) => one.processes));
  return {
    limiters: visibleLimiters,
    breakers: visibleBreakers,
    // The limiters and breakers that a process does not list may be hidden.
    processes: processes.filter(({ id }) => ids.has(id)).map((one) => ({ ...one, more: 0 })),
    unreadable: [],
  };
}

function visibleUsage<Numbers extends UsageSummary>(usage: Numbers, { canSee }: Visitor): Numbers {
  const limiters = usage.limiters.filter(({ name }) => canSee(name));
  return { ...usage, limiters, others: undefined, unreadable: [] };
}

/** Always marks the list as incomplete: otherwise a complete list would reveal that no block is hidden. */
function visibleBlocks({ at, blocks }: ActiveBlocks, { canSee }: Visitor): ActiveBlocks {
  const visible = blocks.filter(({ limiter }) => canSee(limiter));
  return { at, blocks: visible, isComplete: false, uncheckedCount: 0, unreadable: [] };
}

/** The processes that have a visible limiter. */
function visibleCoverage(coverage: UsageCoverage, { limiters }: Registry): UsageCoverage {
  const ids = new Set(limiters.flatMap(({ processes }) => processes));
  const isVisible = ({ id }: { readonly id: string }): boolean => ids.has(id);
  const reporting = coverage.reporting.filter(isVisible);
  const silent = coverage.silent.filter(isVisible);
  const newest = Math.max(0, ...[...reporting, ...silent].map((one) => one.at ?? 0));
  return { at: coverage.at, reporting, silent, ...(newest > 0 ? { newest } : {}), unreadable: [] };
}

/** The deny list applies to all limiters; only visitors who may see all of them get the entries' reasons. */
function visibleControlRecord(record: ControlRecord, { canSee }: Visitor): ControlRecord {
  const { overrides, invalidations, denyList } = record;
  return {
    ...record,
    overrides: overrides.filter(({ limiter }) => canSee(limiter)),
    invalidations: invalidations.filter(({ limiter }) => canSee(limiter)),
    denyList: denyList?.map(withoutReason),
  };
}

function withoutReason(entry: DeniedNetwork): DeniedNetwork {
  return { ...entry, reason: undefined };
}

function visibleEntry(entry: LogEntry, { canSee }: Visitor): readonly LogEntry[] {
  // Other programs may have written any value.
  if (typeof entry.limiter !== "string") return [{ ...entry, reason: undefined }];
  return canSee(entry.limiter) ? [entry] : [];
}
