import type { Decision } from "../common/decision.ts";
import { formatKind, invalidValue } from "../common/errors.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { LimiterControl } from "../control/control.ts";
import type { StoreMonitor } from "../health/store-health.ts";
import type { InFlight } from "../pipeline/in-flight.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import type { Subjects } from "../policy/counters.ts";
import type { QueuedDecision, QueueWaitOptions } from "../queue/queue.ts";
import type { UsageCounter } from "../usage/usage-counter.ts";
import type { ConsumeOptions, Limiter } from "./limiter.ts";
import type { PerCallPolicies } from "./per-call-policies.ts";

/** Under this symbol, other parts and copies of Headgate find the parts of a limiter. */
export const LIMITER: unique symbol = Symbol.for("@headgate/core.limiter") as never;

/** The parts of a limiter that the rest of Headgate uses. */
export interface LimiterInternals {
  readonly policy: CompiledPolicy;
  /** The policies of another shape passed with calls. */
  readonly perCallPolicies: Pick<PerCallPolicies, "isUsed" | "hasSlots" | "blocksOnSettle">;
  /** The limiter it extends. */
  readonly parent: Limiter | undefined;
  /**
   * `consume` for some of its groups of limits only; publishes nothing. Returns the decision itself if this process knows it; errors
   * are then thrown, not rejected.
   */
  consumeGroups(
    groups: readonly LimitGroup[],
    subject: Subjects,
    options: ConsumeOptions | undefined,
    freshness?: ControlFreshness,
  ): Awaitable<Decision>;
  /** Operators' changes, as far as this process knows; undefined if the store has no control record. */
  readonly control: Pick<LimiterControl, "refresh" | "cache"> | undefined;
  /** `consumeGroups`, but a denied request waits in the queue. Undefined if the client has disconnected meanwhile. */
  consumeOrWait(
    groups: readonly LimitGroup[],
    subject: Subjects,
    options: ConsumeOptions | undefined,
    turn: QueueWaitOptions,
  ): Promise<QueuedDecision | undefined>;
  /** Settles and refunds its decisions, also after `close`. */
  readonly chargeMethods: Pick<Limiter, "settle" | "refund">;
  /** The HTTP requests that guards are deciding with it, for which `close` waits a second at most. */
  readonly requestsInFlight: InFlight;
  /** The monitor of its store; undefined if the store is in this process's memory. */
  readonly monitor: StoreMonitor | undefined;
  /**
   * The usage that its decisions are counted in; callers of `consumeGroups` and `consumeOrWait` count theirs themselves.
   * Undefined if the store keeps none.
   */
  readonly usage: UsageCounter | undefined;
  /** Whether it leases units. A leased unit counts for every limit. */
  readonly hasLease: boolean;
  /** Whether it is in shadow mode, as far as that can be known without a subject. */
  isInShadow(): Promise<boolean>;
  /** Whether `close` was called: its methods reject, but calls that began before are still decided. */
  readonly isClosed: boolean;
}

/**
 * A limiter created by `createLimiter`. `Limiter`, the public type, does not have the symbol: the compiler would treat the same
 * type from another copy of the package, or from its other format, as a different one.
 */
export interface LimiterWithInternals<Dimension extends string = string>
  extends Limiter<Dimension> {
  readonly [LIMITER]: LimiterInternals;
}

/** A limiter created by any copy of Headgate. Throws `HEADGATE_INVALID_OPTION` for anything else. */
export function requireLimiter(limiter: Limiter): LimiterWithInternals {
  internalsOf(limiter);
  return limiter as LimiterWithInternals;
}

/** How recently a request's guard read operators' changes before its decision. */
export interface ControlFreshness {
  /** Milliseconds of `storeTimeout` that the request has used by waiting for them. */
  readonly usedTimeoutMs: number;
  /** Whether they were read for this request, so that the decision does not read them again. */
  readonly isFresh: boolean;
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
