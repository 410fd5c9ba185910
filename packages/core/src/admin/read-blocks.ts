import { codeOf } from "../common/errors.ts";
import { groupBy } from "../common/group-by.ts";
import { readPart } from "../common/key.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import type { RedisClient } from "../redis/client-port.ts";
import type { CountingStore, Store } from "../store/store.ts";
import { readBlockList } from "../usage/read-records.ts";
import { blocksKey, readUsageClock } from "../usage/steps.ts";
import { hashSubject } from "../usage/top-subjects.ts";
import { operate, placeOf } from "./admin.ts";
import type { SourceOptions, UnreadRecord } from "./admin-source.ts";
import { eachReader, readFrom } from "./admin-source.ts";
import type { BlockInForce, Blocks } from "./blocks.ts";
import { countersOfParts } from "./counters-of-part.ts";
import { isInShadow } from "./in-shadow.ts";
import { lookAtBlock } from "./look-at-block.ts";
import type { SubjectBlock } from "./operator.ts";
import { readDirectoryOf } from "./read-registry.ts";
import type { Directory, DirectoryLimiter } from "./registry.ts";
import type { Suspect } from "./suspects.ts";
import { gatherSuspects } from "./suspects.ts";

/** Options of `readBlocks`. */
export interface ReadBlocksOptions extends SourceOptions {
  /** The directory, if it was read already. Default: it is read. */
  readonly directory?: Directory | undefined;
}

/** The most blocks listed, as in blocks.lua. */
const MOST = 1_000;

type Policies = ReadonlyMap<string, readonly DirectoryLimiter[]>;

/**
 * Reads the blocks in force: those by hand that are in the log, and those with which processes that keep usage have denied a
 * request. Each is checked in its counter, so that ended ones are not returned. Takes a store in Redis or a Redis client.
 * Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_UNKNOWN_CLIENT`, and with the store's errors.
 */
export async function readBlocks(
  source: Store | RedisClient,
  options: ReadBlocksOptions = {},
): Promise<Blocks> {
  rejectUnknownOptions("readBlocks", options, ["prefix", "timeout", "directory"]);
  return readFrom("readBlocks", source, options, (store) => readAll(store, options.directory));
}

async function readAll(store: CountingStore, given: Directory | undefined): Promise<Blocks> {
  const { prefix } = store;
  const unread: UnreadRecord[] = [];
  const operator = operate(store);
  const readEach = eachReader(store.owner as RedisClient, unread);
  const [[listed = []], directory, log, { overrides }, [now = 0]] = await Promise.all([
    readEach([blocksKey(prefix)], readBlockList),
    given ?? readDirectoryOf(store),
    operator.log(),
    operator.readControl(),
    store.run(readUsageClock, { prefix }),
  ]);
  unread.push(...directory.unread);
  const policies = groupBy(
    directory.limiters.filter(({ isCut }) => isCut !== true),
    ({ name }) => name,
  );
  const { suspects, unknown } = gatherSuspects(listed, log, [...policies.keys()]);
  const found = await lookAtAll(store, suspects, policies, unread);
  const at = Math.floor(now / 1_000);
  const blocks = found.map(({ suspect, limiter, block }): BlockInForce => {
    const isByHand = block.limit === undefined;
    return {
      limiter,
      dimension: suspect.dimension,
      ...subjectOf(suspect),
      ...(isByHand ? {} : { limit: block.limit }),
      until: at + block.endsInMs,
      shadow: isInShadow(limiter, policies.get(limiter) ?? [], overrides),
      ...(isByHand ? suspect.log : {}),
    };
  });
  blocks.sort((one, other) => other.until - one.until);
  return { at, blocks, isWhole: listed.length < MOST, unknown, unread };
}

interface Found {
  readonly suspect: Suspect;
  /** The owner of the blocked counter: the limiter, or one that it extends. */
  readonly limiter: string;
  readonly block: SubjectBlock;
}

/** Checks the counters of all suspects concurrently. */
async function lookAtAll(
  store: CountingStore,
  suspects: readonly Suspect[],
  policies: Policies,
  unread: UnreadRecord[],
): Promise<readonly Found[]> {
  const { watch } = placeOf(store, "5s");
  const release = watch.use();
  const countersOf = countersOfParts(store, policies);
  const looked = suspects.flatMap((suspect) => {
    const { limiter, dimension, part } = suspect;
    return countersOf(limiter, dimension, part).map(async (counter): Promise<Found | undefined> => {
      try {
        const block = await lookAtBlock(counter, (...call) => watch.run(store, ...call));
        return block && { suspect, limiter: counter.group.limiter, block };
      } catch (error) {
        if (codeOf(error) !== "HEADGATE_WRONG_TYPE") throw error;
        unread.push({ key: counter.key, why: "wrong-type" });
        return undefined;
      }
    });
  });
  try {
    return longest(await Promise.all(looked));
  } finally {
    release();
  }
}

/** Merges duplicates. A block by hand is in each counter of a dimension; a limiter and one that extends it share counters. */
function longest(all: readonly (Found | undefined)[]): readonly Found[] {
  const found = new Map<string, Found>();
  for (const one of all) {
    if (one === undefined) continue;
    const { suspect, limiter, block } = one;
    const id = JSON.stringify([limiter, suspect.dimension, suspect.part, block.limit]);
    const known = found.get(id);
    const lasts = known === undefined || known.block.endsInMs < block.endsInMs;
    // The log entry may be for either limiter.
    if (lasts || known.suspect.log === undefined) found.set(id, one);
  }
  return [...found.values()];
}

function subjectOf({ part, isHashed }: Suspect): Pick<BlockInForce, "subject" | "hash"> {
  const subject = readPart(part);
  // A long subject is a hash in the key as well.
  if (subject === undefined) return { hash: part.slice(1, 17) };
  return isHashed ? { hash: hashSubject(subject) } : { subject };
}
