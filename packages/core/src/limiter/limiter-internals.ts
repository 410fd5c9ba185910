import type { Decision } from "../common/decision.ts";
import { formatKind, invalidValue } from "../common/errors.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { ControlFollower } from "../control/control-follower.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import type { FallbackStage } from "../pipeline/fallback-stage.ts";
import type { InFlight } from "../pipeline/in-flight.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import type { Subjects } from "../policy/counters.ts";
import type { QueuedDecision, QueueWaitOptions } from "../queue/queue.ts";
import type { UsageCounter } from "../usage/usage-counter.ts";
import type { ConsumeOptions, Limiter } from "./limiter.ts";
import type { PerCallPolicies } from "./per-call-policies.ts";

/** The parts of a limiter, shared by its methods. */
export interface LimiterCore {
  readonly name: string;
  readonly policy: CompiledPolicy;
  /** The policies of another shape passed with calls. */
  readonly perCallPolicies: PerCallPolicies;
  /** Whether it leases units. A leased unit counts for every limit. */
  readonly hasLease: boolean;
  /** The calls in progress: each ends in time. */
  readonly inFlight: InFlight;
  /** The HTTP requests that guards are deciding with it, for which `close` waits a second at most. */
  readonly requestsInFlight: InFlight;
  /** The first stage of the pipeline that decides. */
  readonly pipeline: Stage;
  /** Decides when the store does not answer; undefined in memory. */
  readonly fallback: FallbackStage | undefined;
  /** The monitor of its store; undefined in memory. */
  readonly monitor: StoreMonitor | undefined;
  /** Follows operators' changes; undefined if the store has no control record. */
  readonly control: ControlFollower | undefined;
  /** Counts its decisions for operators; undefined if the store keeps no usage. */
  readonly usage: UsageCounter | undefined;
}

/** The parts that depend on where its store counts. */
export type BackendParts = Pick<
  LimiterCore,
  "pipeline" | "fallback" | "monitor" | "control" | "usage"
>;

/** Under this symbol, other parts and copies of Headgate find the parts of a limiter. */
export const LIMITER: unique symbol = Symbol.for("@headgate/core.limiter") as never;

/** The parts of a limiter that the rest of Headgate uses. */
export interface LimiterInternals extends LimiterCore {
  /** The limiter it extends. */
  readonly parent: Limiter | undefined;
  /**
   * `consume` for some or all groups; publishes nothing and counts no usage. A denied charge starts no block. Returns the
   * decision itself if this process knows it, and then throws.
   */
  consumeGroups(
    groups: readonly LimitGroup[] | undefined,
    subject: Subjects,
    options: ConsumeOptions | undefined,
    freshness?: ControlFreshness,
    mode?: "charge",
  ): Awaitable<Decision>;
  /** `consumeGroups`, but a denied request waits in the queue. Undefined if the client has disconnected meanwhile. */
  consumeOrWait(
    groups: readonly LimitGroup[],
    subject: Subjects,
    options: ConsumeOptions | undefined,
    turn: QueueWaitOptions,
  ): Promise<QueuedDecision | undefined>;
  /** Settles and refunds its decisions, also after `close`. */
  readonly chargeMethods: Pick<Limiter, "settle" | "refund">;
  /** Whether it is in shadow mode, as far as that can be known without a subject. */
  isInShadow(): Promise<boolean>;
  /** Whether `close` was called: its methods reject, but calls that began before are still decided. */
  readonly isClosed: boolean;
}

/** How recently a request's guard read operators' changes before its decision. */
export interface ControlFreshness {
  /** Milliseconds of `storeTimeout` that the request has used by waiting for them. */
  readonly usedTimeoutMs: number;
  /** Whether they were read for this request, so that the decision does not read them again. */
  readonly isFresh: boolean;
}

/**
 * A limiter created by `createLimiter`. `Limiter`, the public type, does not have the symbol: the compiler would treat the same
 * type from another copy of the package, or from its other format, as a different one.
 */
export interface LimiterWithInternals<Dimension extends string = string>
  extends Limiter<Dimension> {
  /** @internal Its type would bring those of nearly all of core into each package that has a limiter. */
  readonly [LIMITER]: LimiterInternals;
}

/** A limiter created by any copy of Headgate. Throws `HEADGATE_INVALID_OPTION` for anything else. */
export function requireLimiter(limiter: Limiter): LimiterWithInternals {
  internalsOf(limiter);
  return limiter as LimiterWithInternals;
}

/** The parts of a limiter created by any copy of Headgate. Throws `HEADGATE_INVALID_OPTION` for anything else. */
export function internalsOf(limiter: unknown): LimiterInternals {
  const internals =
    typeof limiter === "object" && limiter !== null
      ? (limiter as Partial<LimiterWithInternals>)[LIMITER]
      : undefined;
  if (internals !== undefined) return internals;
  throw invalidValue("a limiter made by createLimiter is needed", limiter, formatKind);
}
