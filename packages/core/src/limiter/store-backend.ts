import type { InFlight } from "../pipeline/in-flight.ts";
import { createMemoryStage } from "../pipeline/memory-stage.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { HttpUse } from "../registry/record.ts";
import type { CountingStore } from "../store/store.ts";
import type { FailurePolicy } from "./failure-policy.ts";
import type { BackendParts, LimiterCore } from "./limiter-core.ts";
import type { PerCallPolicies, PerCallPolicyTracker } from "./per-call-policies.ts";

/**
 * The part of limiters on a store on servers. It comes with the store, so that an application whose limiters count in memory
 * never loads it.
 */
export interface StoreBackend {
  /** Builds the decision chain, and the parts around it. */
  open(
    counted: CompiledPolicy,
    failure: FailurePolicy,
    inFlight: InFlight,
    shapes: PerCallPolicies,
  ): BackendParts & { readonly pipeline: Stage };
  /** Lists the limiter for operators' tools. */
  register(name: string, own: CompiledPolicy, parent: string | undefined): void;
  /** Records in the registry how an adapter uses a limiter. */
  recordUse(store: CountingStore, name: string, use: HttpUse): void;
  /** Lists the shapes passed with its calls; undefined if the store has no registry. */
  trackPerCallPolicies(store: CountingStore, name: string): PerCallPolicyTracker | undefined;
  /** Removes it from the registry. */
  unregister(store: CountingStore, name: string): Promise<void>;
  /** Sends its last counts. */
  flushUsage(store: CountingStore, name: string): Promise<void>;
  /** Prepares the store for the first decision; resolves with whether it answered. */
  warmUp(core: LimiterCore): Promise<boolean>;
}

/** The store's part of a limiter; undefined for one in memory. */
export function backendOf({ backend }: CountingStore): StoreBackend | undefined {
  return backend as StoreBackend | undefined;
}

/** A limiter in this process: one link. */
export function openInMemory(counted: CompiledPolicy): BackendParts & { readonly pipeline: Stage } {
  return {
    pipeline: createMemoryStage(counted),
    monitor: undefined,
    fallback: undefined,
    control: undefined,
    overrides: undefined,
    usage: undefined,
  };
}
