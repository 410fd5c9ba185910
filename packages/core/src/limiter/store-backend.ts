import type { InFlight } from "../pipeline/in-flight.ts";
import { createMemoryStage } from "../pipeline/memory-stage.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { HttpUse } from "../registry/record.ts";
import type { CountingStore } from "../store/store.ts";
import type { FailurePolicy } from "./failure-options.ts";
import type { BackendParts, LimiterCore } from "./limiter-internals.ts";
import type { PerCallPolicies, PerCallPolicyTracker } from "./per-call-policies.ts";

/**
 * The part of a limiter that only a store on servers needs. The store brings it along, so that an application that counts in
 * memory never loads it.
 */
export interface StoreBackend {
  /** Creates the decision pipeline, and the parts around it. */
  open(
    policy: CompiledPolicy,
    failure: FailurePolicy,
    inFlight: InFlight,
    perCallPolicies: PerCallPolicies,
  ): BackendParts;
  /** Adds the limiter to the registry. */
  register(
    name: string,
    own: CompiledPolicy,
    failure: FailurePolicy,
    parent: string | undefined,
  ): void;
  /** Records in the registry how an adapter uses a limiter. */
  recordUse(store: CountingStore, name: string, use: HttpUse): void;
  /** Returns a tracker that lists per-call policies in the registry; undefined if the store has no registry. */
  trackPerCallPolicies(store: CountingStore, name: string): PerCallPolicyTracker | undefined;
  /** Removes the limiter from the registry. */
  unregister(store: CountingStore, name: string): Promise<void>;
  /** Sends the last usage counts of a limiter. */
  flushUsage(store: CountingStore, name: string): Promise<void>;
  /** Prepares the store for the first decision; resolves with whether it answered. */
  warmUp(core: LimiterCore): Promise<boolean>;
}

/** The backend of a store; undefined for one in memory. */
export function backendOf({ backend }: CountingStore): StoreBackend | undefined {
  return backend as StoreBackend | undefined;
}

/** The parts of a limiter in memory, whose pipeline is a single stage. */
export function openInMemory(policy: CompiledPolicy): BackendParts {
  return {
    pipeline: createMemoryStage(policy),
    monitor: undefined,
    fallback: undefined,
    control: undefined,
    usage: undefined,
  };
}
