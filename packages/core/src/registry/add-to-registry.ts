import { shareByPrefix } from "../common/client-state.ts";
import { fingerprint } from "../common/key.ts";
import type { FallbackOptions } from "../pipeline/fallback-stage.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import type { CountingStore } from "../store/store.ts";
import { VERSION } from "../version.generated.ts";
import { ProcessRegistry, processNameOf } from "./process-registry.ts";
import type {
  GetTargetNames,
  HttpUse,
  LimiterRecord,
  RegistryPolicy,
  RegistryRecord,
  RegistryShape,
} from "./record.ts";
import { logFirstRefusal } from "./refusal.ts";

/**
 * Lists a limiter or a breaker in the registry of its store, until its name is removed; does nothing if the store has no
 * registry. `getTargetNames` is called with each write.
 */
export function addToRegistry(
  store: CountingStore,
  record: RegistryRecord,
  getTargetNames?: GetTargetNames,
): void {
  if (store.registry === true) registryOf(store).add(record, store, getTargetNames);
}

/** Records how an adapter uses a limiter. */
export function recordHttpUse(store: CountingStore, name: string, use: HttpUse): void {
  if (store.registry === true) registryOf(store).addHttpUse("limiter", name, use);
}

/** Removes a name that this process no longer uses. Waits only briefly for the store, and never rejects. */
export async function removeFromRegistry(
  store: CountingStore,
  kind: RegistryRecord["kind"],
  name: string,
): Promise<void> {
  if (store.registry === true) await registryOf(store).remove(kind, name, store);
}

/** The limiters that this process lists, or will list; none if the store has no registry. */
export function ownLimitersOf(store: CountingStore): readonly LimiterRecord[] {
  return store.registry === true ? registryOf(store).limiters() : [];
}

/** The listings of this process for the client and prefix of a store. */
export const registryOf: (store: CountingStore) => ProcessRegistry = shareByPrefix(
  "registry",
  (store) => {
    const onRefused = logFirstRefusal(
      "HEADGATE_REGISTRY_REFUSED",
      (why) =>
        `this process is not in the registry that operators' tools read: ${why}; limits are decided as usual, and the write is tried again every 30 seconds; redisStore(client, { registry: false }) turns the registry off`,
    );
    return new ProcessRegistry(store.prefix, onRefused, processNameOf(store).name);
  },
);

/** The most shapes of a limiter that are listed. */
const MAX_SHAPES = 64;

/**
 * Lists a limiter if its store keeps a registry. `own` has its limits without those of the one that it extends, which is named
 * `extended`.
 */
export function addLimiterToRegistry(
  name: string,
  own: CompiledPolicy,
  fallback: FallbackOptions,
  extended: string | undefined,
): void {
  // In memory of this process it costs nothing.
  if (own.store.registry === true)
    addToRegistry(own.store, limiterRecord(name, own, fallback, extended));
}

/** Lists policies of other shapes with a limiter, while they are in use; undefined if the store keeps no registry. */
export function trackPerCallPolicies(
  store: CountingStore,
  name: string,
): PerCallPolicyTracker | undefined {
  if (store.registry !== true) return undefined;
  const registry = registryOf(store);
  return {
    add: (policy) => registry.addPerCallPolicy(name, registryPolicyOf(policy)),
    remove: (policy) => registry.removePerCallPolicy(name, registryPolicyOf(policy)),
  };
}

/** Receives news about policies of other shapes. */
interface PerCallPolicyTracker {
  add(policy: CompiledPolicy): void;
  remove(policy: CompiledPolicy): void;
}

function limiterRecord(
  name: string,
  own: CompiledPolicy,
  { onUnavailable, localShare }: FallbackOptions,
  extended: string | undefined,
): LimiterRecord {
  return {
    kind: "limiter",
    name,
    policy: fingerprint(own.canonical),
    ...(own.blocksOnSettle ? { blockOn: "settle" } : {}),
    ...registryPolicyOf(own),
    ...(extended === undefined ? {} : { extends: extended }),
    shadow: own.shadow,
    onUnavailable,
    ...(onUnavailable === "local" ? { localShare } : {}),
    uses: [],
    version: VERSION,
  };
}

function registryPolicyOf(own: CompiledPolicy): RegistryPolicy {
  return {
    limits: own.limits.map(({ source }) => source),
    shapes: own.groups.slice(0, MAX_SHAPES).map((group) => shapeOf(group, own)),
  };
}

function shapeOf(
  { dimension, keySuffix, positions }: LimitGroup,
  own: CompiledPolicy,
): RegistryShape {
  return {
    per: dimension,
    fingerprint: keySuffix.slice(keySuffix.lastIndexOf(":") + 1),
    limits: positions.map((position) => own.limits[position]?.name as string),
  };
}
