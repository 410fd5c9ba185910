import { BackgroundTimer } from "../common/background.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import { identityOf } from "../operations/counter.ts";
import { denyCacheOf } from "../pipeline/deny-cache.ts";
import { endAllLeases, endLeases } from "../pipeline/lease-holders.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { countersOfLimiter } from "../policy/counters.ts";
import type { ControlCache, ControlUpdate } from "./control-cache.ts";
import { controlCacheOf } from "./control-cache.ts";
import type { LimiterOverrides } from "./limiter-overrides.ts";
import { createCompatibilityCheck, overridesIn } from "./limiter-overrides.ts";
import type { ControlRecord, Invalidation } from "./record.ts";

/**
 * How often waiting calls check whether their overrides have changed, in milliseconds: soon enough for when a change is in
 * force everywhere.
 */
const CHECK_INTERVAL_MS = 250;

/** The limiter that follows the record. */
interface FollowingLimiter {
  readonly policy: CompiledPolicy;
  readonly monitor: StoreMonitor;
  /** The policies of other shapes that calls have passed. */
  readonly perCallPolicies: () => Iterable<CompiledPolicy>;
  readonly endLeases: Stage["endLeases"];
}

/** A call that waits under limits that may change. */
interface WaitingCall {
  readonly counters: readonly SubjectCounter[];
  readonly policy: CompiledPolicy;
  readonly effectiveLimits: string;
  readonly callback: () => void;
}

/**
 * Follows the control record for one limiter: applies the overrides of the limiter and of the one that it extends, and drops all
 * cached state that an invalidation affects, so that the next decision goes to the store. Denials are forgotten, and leases are
 * returned.
 */
export class ControlFollower {
  readonly cache: Pick<ControlCache, keyof ControlCache>;
  /** The overrides of the latest record; undefined if there are none, so that `override` can be skipped. */
  overrides: LimiterOverrides | undefined;
  /** Stops following the record. */
  readonly stop: () => void;
  readonly #limiter: FollowingLimiter;
  readonly #isCompatible: ReturnType<typeof createCompatibilityCheck>;
  readonly #waiting = new Set<WaitingCall>();
  readonly #timer = new BackgroundTimer(() => this.#checkPeriodically());
  #invalidationCallback: (identity?: string) => void = () => {};

  constructor(limiter: FollowingLimiter) {
    const { policy, monitor, perCallPolicies } = limiter;
    this.#limiter = limiter;
    this.#isCompatible = createCompatibilityCheck(policy, monitor, perCallPolicies);
    this.cache = controlCacheOf(policy.store);
    this.#applyRecord(this.cache.record);
    // The cache does not keep the follower alive, so that a limiter that is dropped without `close` can be collected.
    this.stop = this.cache.follow(this);
  }

  /** Reads the record again if it is due, as `ControlCache.refresh` does. */
  refresh(): Promise<void> | undefined {
    const { policy, monitor } = this.#limiter;
    return this.cache.refresh({ store: policy.store, monitor });
  }

  /**
   * Counters with the overrides in force for them; the same list if there are none. `policy` is the policy that they belong to,
   * by default the limiter's own.
   */
  override(
    counters: readonly SubjectCounter[],
    policy?: CompiledPolicy,
  ): readonly SubjectCounter[] {
    return this.overrides?.override(counters, this.cache.now(), policy) ?? counters;
  }

  /** After `refresh`: whether the limiter is in shadow mode for all subjects; undefined if no override applies to all subjects. */
  async isInShadow(): Promise<boolean | undefined> {
    await this.refresh();
    return this.overrides?.isInShadow(this.cache.now());
  }

  /**
   * Calls back within two seconds after the effective limits of counters differ from those of `waiting`, until the returned
   * function is called.
   */
  onLimitsChange(
    counters: readonly SubjectCounter[],
    policy: CompiledPolicy,
    waiting: readonly SubjectCounter[],
    callback: () => void,
  ): () => void {
    const call = { counters, policy, effectiveLimits: formatEffectiveLimits(waiting), callback };
    this.#waiting.add(call);
    if (!this.#timer.isSet) this.#timer.set(CHECK_INTERVAL_MS);
    return () => {
      this.#waiting.delete(call);
      if (this.#waiting.size === 0) this.#timer.stop();
    };
  }

  /** Calls back with the identity of each invalidated counter, and without one if everything is invalidated. */
  onInvalidation(callback: (identity?: string) => void): void {
    this.#invalidationCallback = callback;
  }

  onUpdate({ record, invalidations, invalidatesAll }: ControlUpdate): void {
    this.#applyRecord(record);
    for (const invalidation of invalidations) this.#applyInvalidation(invalidation);
    if (!invalidatesAll) return;
    const { owner, now } = this.#limiter.policy.store;
    denyCacheOf(owner).invalidateAll(now());
    endAllLeases(owner);
    this.#invalidationCallback();
  }

  /** The leased units of an overridden subject are returned. */
  #applyRecord(record: ControlRecord): void {
    const { policy, endLeases } = this.#limiter;
    this.overrides = overridesIn(record, policy, this.#isCompatible);
    if (this.overrides === undefined) return;
    endLeases?.((counter) => this.override([counter])[0]?.overrideEffect !== undefined);
  }

  #applyInvalidation({ limiter, subject }: Invalidation): void {
    const { policy, perCallPolicies } = this.#limiter;
    const counters = [policy, ...perCallPolicies()].flatMap((one) =>
      countersOfLimiter(one, limiter, subject),
    );
    if (counters.length === 0) return;
    const { owner, now } = policy.store;
    denyCacheOf(owner).invalidate(counters, now());
    endLeases(owner, counters);
    for (const counter of counters) this.#invalidationCallback(identityOf(counter));
  }

  #checkPeriodically(): void {
    this.#timer.set(CHECK_INTERVAL_MS);
    const refreshed = this.refresh();
    if (refreshed === undefined) this.#checkWaiting();
    else void refreshed.then(() => this.#checkWaiting());
  }

  #checkWaiting(): void {
    for (const { counters, policy, effectiveLimits, callback } of this.#waiting) {
      if (formatEffectiveLimits(this.override(counters, policy)) !== effectiveLimits) callback();
    }
  }
}

/** Equal if and only if counters are decided in the same way. */
function formatEffectiveLimits(counters: readonly SubjectCounter[]): string {
  return counters
    .map(
      ({ encodedParameters, overrideEffect }) => `${encodedParameters};${overrideEffect?.shadow}`,
    )
    .join();
}
