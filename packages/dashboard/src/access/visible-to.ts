import type {
  ActiveBlocks,
  ControlRecord,
  DeniedNetwork,
  LogEntry,
  Registry,
  UsageCoverage,
  UsageSummary,
} from "@headgate/core/operate";
import type { Reading } from "../reading.ts";
import type { Visitor } from "./visitor.ts";

/**
 * A reading as a visitor may see it: any data about a hidden limiter is removed before a view or an action gets it. So are
 * counts of unreadable records, because such a record may belong to any limiter.
 */
export function seenBy(reading: Reading, visitor: Visitor): Reading {
  if (!visitor.isLimited) return reading;
  const directory: Reading["directory"] = async () =>
    directoryFor(await reading.directory(), visitor);
  return {
    ...reading,
    made: (_, make) => make(),
    directory,
    usage: async (span) => usageFor(await reading.usage(span), visitor),
    limiterUsage: async (limiter, span) =>
      usageFor(await reading.limiterUsage(limiter, span), visitor),
    blocks: async () => blocksFor(await reading.blocks(), visitor),
    coverage: async () => coverageFor(await reading.coverage(), await directory()),
    async control() {
      const { record, latencyMs } = await reading.control();
      return { record: recordFor(record, visitor), latencyMs };
    },
    denyList: async (address) => (await reading.denyList(address)).map(withoutReason),
    async log() {
      const { entries } = await reading.log();
      return { entries: entries.flatMap((entry) => entryFor(entry, visitor)), unreadable: 0 };
    },
  };
}

function directoryFor({ limiters, breakers, processes }: Registry, { sees }: Visitor): Registry {
  const seenLimiters = limiters
    .filter(({ name }) => sees(name))
    .map((one) =>
      one.extends === undefined || sees(one.extends) ? one : { ...one, extends: undefined },
    );
  const seenBreakers = breakers.filter(({ name }) => sees(name));
  const ids = new Set([...seenLimiters, ...seenBreakers].flatMap((one) => one.processes));
  return {
    limiters: seenLimiters,
    breakers: seenBreakers,
    // A process's unlisted limiters and breakers may be hidden ones.
    processes: processes.filter(({ id }) => ids.has(id)).map((one) => ({ ...one, more: 0 })),
    unread: [],
  };
}

function usageFor<Numbers extends UsageSummary>(usage: Numbers, { sees }: Visitor): Numbers {
  const limiters = usage.limiters.filter(({ name }) => sees(name));
  return { ...usage, limiters, others: undefined, unread: [] };
}

/** Always reports that there may be others: whether the complete list was read would be a hint. */
function blocksFor({ at, blocks }: ActiveBlocks, { sees }: Visitor): ActiveBlocks {
  const seen = blocks.filter(({ limiter }) => sees(limiter));
  return { at, blocks: seen, isWhole: false, unknown: 0, unread: [] };
}

/** The processes that have a visible limiter. */
function coverageFor(coverage: UsageCoverage, { limiters }: Registry): UsageCoverage {
  const ids = new Set(limiters.flatMap(({ processes }) => processes));
  const isSeen = ({ id }: { readonly id: string }): boolean => ids.has(id);
  const reporting = coverage.reporting.filter(isSeen);
  const silent = coverage.silent.filter(isSeen);
  const newest = Math.max(0, ...[...reporting, ...silent].map((one) => one.at ?? 0));
  return { at: coverage.at, reporting, silent, ...(newest > 0 ? { newest } : {}), unread: [] };
}

/** The deny list applies to all limiters; the reasons of entries are for visitors who may see all of them. */
function recordFor(record: ControlRecord, { sees }: Visitor): ControlRecord {
  const { overrides, orders, denied } = record;
  return {
    ...record,
    overrides: overrides.filter(({ limiter }) => sees(limiter)),
    orders: orders.filter(({ limiter }) => sees(limiter)),
    denied: denied?.map(withoutReason),
  };
}

function withoutReason(entry: DeniedNetwork): DeniedNetwork {
  return { ...entry, reason: undefined };
}

function entryFor(entry: LogEntry, { sees }: Visitor): readonly LogEntry[] {
  // Other programs may have written anything.
  if (typeof entry.limiter !== "string") return [{ ...entry, reason: undefined }];
  return sees(entry.limiter) ? [entry] : [];
}
