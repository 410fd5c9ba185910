import { codeOf } from "../common/errors.ts";
import { groupBy } from "../common/group-by.ts";
import { unescapePart } from "../common/key.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { Entries } from "../redis/read-values.ts";
import type { CountingStore, Store } from "../store/store.ts";
import { blocksKey } from "../usage/layout.ts";
import { readUsageClock } from "../usage/operations.ts";
import { hashSubject } from "../usage/top-subjects.ts";
import type { SubjectBlock } from "./admin.ts";
import { inspectBlock } from "./admin-counters.ts";
import type { SourceOptions, UnreadableRecord } from "./admin-source.ts";
import { createRecordReader, readFrom } from "./admin-source.ts";
import type { ActiveBlock, ActiveBlocks, BlockCandidate, StoredBlock } from "./blocks.ts";
import { collectBlockCandidates } from "./blocks.ts";
import { createCounterLookup } from "./counter-keys.ts";
import { adminStoreOf, createAdmin } from "./create-admin.ts";
import { isInShadow } from "./limiter-versions.ts";
import type { Registry, RegistryLimiter } from "./read-registry.ts";
import { readRegistryOf } from "./read-registry.ts";

/** Options of `readBlocks`. */
export interface ReadBlocksOptions extends SourceOptions {
  /** The registry, if it was read already. Default: it is read. */
  readonly registry?: Registry | undefined;
}

/** The most blocks listed, as in usage.lua. */
const MAX_BLOCKS = 1_000;

type Policies = ReadonlyMap<string, readonly RegistryLimiter[]>;

/**
 * Reads the blocks in force: those by hand that are in the log, and those with which processes that keep usage have denied a
 * request. Each is checked in its counter, so that ended ones are not returned. Takes a store in Redis or a Redis client.
 * Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_REDIS_CLIENT`, and with the store's errors.
 */
export async function readBlocks(
  source: Store | RedisClient,
  options: ReadBlocksOptions = {},
): Promise<ActiveBlocks> {
  rejectUnknownOptions("readBlocks", options, ["prefix", "timeout", "registry"]);
  return readFrom("readBlocks", source, options, (store) => readAll(store, options.registry));
}

async function readAll(store: CountingStore, given: Registry | undefined): Promise<ActiveBlocks> {
  const { prefix } = store;
  const unreadable: UnreadableRecord[] = [];
  const admin = createAdmin(store);
  const reader = createRecordReader(store, unreadable);
  const [[stored = []], registry, log, { overrides }, [now = 0]] = await Promise.all([
    reader.entries("zset", [blocksKey(prefix)], parseBlocks),
    given ?? readRegistryOf(store),
    admin.log(),
    admin.readControl(),
    store.run(readUsageClock, { prefix }),
  ]);
  unreadable.push(...registry.unreadable);
  const listed = stored.filter(({ ends }) => ends * 1_000_000 > now);
  const policies = groupBy(
    registry.limiters.filter(({ isTruncated }) => isTruncated !== true),
    ({ name }) => name,
  );
  const { candidates, unknown: uncheckedCount } = collectBlockCandidates(listed, log, [
    ...policies.keys(),
  ]);
  const found = await inspectAll(store, candidates, policies, unreadable);
  const at = Math.floor(now / 1_000);
  const blocks = found.map(({ candidate, limiter, block }): ActiveBlock => {
    const isByHand = block.limit === undefined;
    return {
      limiter,
      dimension: candidate.dimension,
      ...subjectOf(candidate),
      ...(isByHand ? {} : { limit: block.limit }),
      until: at + block.endsInMs,
      shadow: isInShadow(limiter, policies.get(limiter) ?? [], overrides),
      ...(isByHand ? originOf(candidate, at + block.endsInMs) : {}),
    };
  });
  blocks.sort((one, other) => other.until - one.until);
  return { at, blocks, isComplete: listed.length < MAX_BLOCKS, uncheckedCount, unreadable };
}

function parseBlocks(entries: Entries): readonly StoredBlock[] | "damaged" {
  const blocks = entries.flatMap(([member, score]): StoredBlock[] => {
    const [, limiter, dimension, letter, part, encoded] =
      /^(\S+) (\S+) ([hp])(\S+)(?: (\S+))?$/.exec(member) ?? [];
    if (limiter === undefined || dimension === undefined || part === undefined) return [];
    const reason = encoded === undefined ? undefined : decodeReason(encoded);
    return [{ limiter, dimension, part, isHashed: letter === "h", ends: Number(score), reason }];
  });
  return blocks.length === entries.length ? blocks : "damaged";
}

/** The text of a percent-encoded reason; undefined if another program wrote it. */
function decodeReason(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** How far the clock of the process that set a block may be from the server's, in milliseconds: as in usage.lua. */
const MAX_SKEW_MS = 5_000;

/** Who set a manual block that lasts until a time, and why: the one whose block was to end then. */
function originOf(
  { origins }: BlockCandidate,
  until: number,
): Pick<ActiveBlock, "setAt" | "by" | "reason"> {
  const own = origins.find(({ ends }) => Math.abs(ends - until) <= MAX_SKEW_MS + 1_000);
  if (own === undefined) return {};
  const { ends: _, ...origin } = own;
  return origin;
}

interface FoundBlock {
  readonly candidate: BlockCandidate;
  /** The owner of the blocked counter: the limiter, or one that it extends. */
  readonly limiter: string;
  readonly block: SubjectBlock;
}

/** Checks the counters of all candidates concurrently. */
async function inspectAll(
  store: CountingStore,
  candidates: readonly BlockCandidate[],
  policies: Policies,
  unreadable: UnreadableRecord[],
): Promise<readonly FoundBlock[]> {
  const { monitor } = adminStoreOf(store, "5s");
  const release = monitor.use();
  const countersOf = createCounterLookup(store, policies);
  const inspections = candidates.flatMap((candidate) => {
    const { limiter, dimension, part } = candidate;
    return countersOf(limiter, dimension, part).map(
      async (counter): Promise<FoundBlock | undefined> => {
        try {
          const block = await inspectBlock(counter, (...call) => monitor.run(store, ...call));
          return block && { candidate, limiter: counter.group.limiter, block };
        } catch (error) {
          if (codeOf(error) !== "HEADGATE_WRONG_TYPE") throw error;
          unreadable.push({ key: counter.key, reason: "wrong-type" });
          return undefined;
        }
      },
    );
  });
  try {
    return mergeDuplicates(await Promise.all(inspections));
  } finally {
    release();
  }
}

/** Merges duplicates. A block by hand is in each counter of a dimension; a limiter and one that extends it share counters. */
function mergeDuplicates(all: readonly (FoundBlock | undefined)[]): readonly FoundBlock[] {
  const found = new Map<string, FoundBlock>();
  for (const one of all) {
    if (one === undefined) continue;
    const { candidate, limiter, block } = one;
    const id = JSON.stringify([limiter, candidate.dimension, candidate.part, block.limit]);
    const known = found.get(id);
    const longest = known !== undefined && known.block.endsInMs >= block.endsInMs ? known : one;
    // The log entry may be for either limiter.
    const isHashed = candidate.isHashed && (known?.candidate.isHashed ?? true);
    const origins = [...(known?.candidate.origins ?? []), ...candidate.origins];
    found.set(id, { ...longest, candidate: { ...longest.candidate, isHashed, origins } });
  }
  return [...found.values()];
}

function subjectOf({ part, isHashed }: BlockCandidate): Pick<ActiveBlock, "subject" | "hash"> {
  const subject = unescapePart(part);
  // A long subject is a hash in the key as well.
  if (subject === undefined) return { hash: part.slice(1, 17) };
  return isHashed ? { hash: hashSubject(subject) } : { subject };
}
