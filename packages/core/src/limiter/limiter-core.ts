import type { LimiterControl } from "../control/control.ts";
import type { Overrides } from "../control/overrides.ts";
import type { StoreMonitor } from "../health/store-health.ts";
import type { FallbackStage } from "../pipeline/fallback-stage.ts";
import type { InFlight } from "../pipeline/in-flight.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { UsageCounter } from "../usage/usage-counter.ts";
import type { PerCallPolicies } from "./per-call-policies.ts";

/** The parts of a limiter that only a store on servers needs; all undefined in memory. */
export interface BackendParts {
  readonly monitor: StoreMonitor | undefined;
  /** Decides when the store does not answer. */
  readonly fallback: FallbackStage | undefined;
  /** Follows operators' changes. */
  readonly control: LimiterControl | undefined;
  /** Operators' overrides; undefined if `control` is. */
  readonly overrides: Overrides | undefined;
  /** Counts its decisions for operators; undefined if the store keeps no usage. */
  readonly usage: UsageCounter | undefined;
}

/** Shared by the methods of one limiter. */
export interface LimiterCore extends BackendParts {
  readonly name: string;
  readonly policy: CompiledPolicy;
  /** The policies of another shape passed with calls. */
  readonly perCallPolicies: PerCallPolicies;
  /** The first stage of the pipeline that decides. */
  readonly pipeline: Stage;
  /** Whether it leases units. A leased unit counts for every limit. */
  readonly hasLease: boolean;
  /** The calls in progress: each ends in time. */
  readonly inFlight: InFlight;
  /** The HTTP requests that guards are deciding with it. */
  readonly requestsInFlight: InFlight;
}
