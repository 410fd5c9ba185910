import { prefixPart } from "../common/client-state.ts";
import { fingerprint } from "../common/key.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import type { CountingStore } from "../store/store.ts";
import { VERSION } from "../version.generated.ts";
import type { NameTargets } from "./listed-targets.ts";
import { processNameOf } from "./process-name.ts";
import { ProcessDirectory } from "./process-registry.ts";
import { onceRefused } from "./refusal.ts";
import type {
  HttpUse,
  LimiterRecord,
  ListedPolicy,
  ListedRecord,
  ListedShape,
} from "./registry.ts";

/**
 * Lists a limiter or a breaker in the directory of its store, until its name is removed; does nothing if the store has no
 * directory. `nameTargets` is called with each write.
 */
export function list(store: CountingStore, record: ListedRecord, nameTargets?: NameTargets): void {
  if (store.registry === true) directoryOf(store).add(record, store, nameTargets);
}

/** Records how an adapter uses a limiter. */
export function noteUse(store: CountingStore, name: string, use: HttpUse): void {
  if (store.registry === true) directoryOf(store).addUse("limiter", name, use);
}

/** Removes a name that this process no longer uses. Waits only briefly for the store, and never rejects. */
export async function unlist(
  store: CountingStore,
  kind: ListedRecord["kind"],
  name: string,
): Promise<void> {
  if (store.registry === true) await directoryOf(store).remove(kind, name, store);
}

/** The listings of this process for the client and prefix of a store. */
export const directoryOf: (store: CountingStore) => ProcessDirectory = prefixPart(
  "directory",
  (store) => {
    const onRefused = onceRefused(
      "HEADGATE_DIRECTORY_REFUSED",
      (why) =>
        `this process is not in the directory that operators' tools read: ${why}; limits are decided as usual, and the write is tried again every 30 seconds; redisStore(client, { directory: false }) turns the directory off`,
    );
    return new ProcessDirectory(store.prefix, onRefused, processNameOf(store).name);
  },
);

/** The most shapes of a limiter that are listed. */
const MOST_SHAPES = 64;

/**
 * Lists a limiter if its store keeps a directory. `own` has its limits without those of the one that it extends, which is named
 * `extended`.
 */
export function listLimiter(name: string, own: CompiledPolicy, extended: string | undefined): void {
  // In memory of this process it costs nothing.
  if (own.store.registry === true) list(own.store, limiterRecord(name, own, extended));
}

/** Lists policies of other shapes with a limiter, while they are in use; undefined if the store keeps no directory. */
export function newsOfShapes(store: CountingStore, name: string): ListedNews | undefined {
  if (store.registry !== true) return undefined;
  const directory = directoryOf(store);
  return {
    begin: (policy) => directory.addOther(name, listedPolicyOf(policy)),
    end: (policy) => directory.removeOther(name, listedPolicyOf(policy)),
  };
}

/** Receives news about policies of other shapes. */
interface ListedNews {
  begin(policy: CompiledPolicy): void;
  end(policy: CompiledPolicy): void;
}

function limiterRecord(
  name: string,
  own: CompiledPolicy,
  extended: string | undefined,
): LimiterRecord {
  return {
    kind: "limiter",
    name,
    policy: fingerprint(own.canonical),
    ...(own.blocksOnSettle ? { blockOn: "settle" } : {}),
    ...listedPolicyOf(own),
    ...(extended === undefined ? {} : { extends: extended }),
    shadow: own.shadow,
    uses: [],
    version: VERSION,
  };
}

function listedPolicyOf(own: CompiledPolicy): ListedPolicy {
  return {
    limits: own.limits.map(({ source }) => source),
    shapes: own.groups.slice(0, MOST_SHAPES).map((group) => shapeOf(group, own)),
  };
}

function shapeOf(
  { dimension, keySuffix, positions }: LimitGroup,
  own: CompiledPolicy,
): ListedShape {
  return {
    per: dimension,
    fingerprint: keySuffix.slice(keySuffix.lastIndexOf(":") + 1),
    limits: positions.map((position) => own.limits[position]?.name as string),
  };
}
