import type { InFlight } from "../pipeline/in-flight.ts";
import { createMemoryStage } from "../pipeline/memory-stage.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { HttpUse } from "../registry/record.ts";
import type { CountingStore } from "../store/store.ts";
import type { FailurePolicy } from "./failure-policy.ts";
import type { LimiterCore, ServerParts } from "./limiter-core.ts";
import type { PerCallPolicies, ShapeNews } from "./per-call-policies.ts";

/**
 * The part of limiters on a store on servers. It comes with the store, so that an application whose limiters count in memory
 * never loads it.
 */
export interface OnServers {
  /** Builds the decision chain, and the parts around it. */
  open(
    counted: CompiledPolicy,
    failure: FailurePolicy,
    flights: InFlight,
    shapes: PerCallPolicies,
  ): ServerParts & { readonly chain: Stage };
  /** Lists the limiter for operators' tools. */
  list(name: string, own: CompiledPolicy, parent: string | undefined): void;
  /** Records in the directory how an adapter uses a limiter. */
  noteUse(store: CountingStore, name: string, use: HttpUse): void;
  /** Lists the shapes passed with its calls; undefined if the store has no directory. */
  newsOfShapes(store: CountingStore, name: string): ShapeNews | undefined;
  /** Removes it from the directory. */
  unlist(store: CountingStore, name: string): Promise<void>;
  /** Sends its last counts. */
  endUsage(store: CountingStore, name: string): Promise<void>;
  /** Prepares the store for the first decision; resolves with whether it answered. */
  ready(core: LimiterCore): Promise<boolean>;
}

/** The store's part of a limiter; undefined for one in memory. */
export function serverSideOf({ backend }: CountingStore): OnServers | undefined {
  return backend as OnServers | undefined;
}

/** A limiter in this process: one link. */
export function inMemory(counted: CompiledPolicy): ServerParts & { readonly chain: Stage } {
  return {
    chain: createMemoryStage(counted),
    watch: undefined,
    fallback: undefined,
    control: undefined,
    overrides: undefined,
    usage: undefined,
  };
}
