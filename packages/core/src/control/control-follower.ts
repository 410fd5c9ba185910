import type { StoreMonitor } from "../health/store-monitor.ts";
import { denyCacheOf } from "../pipeline/deny-cache.ts";
import { endAllLeases, endLeases } from "../pipeline/lease-holders.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { countersOfLimiter } from "../policy/counters.ts";
import type { Follower, LimiterControl } from "./control.ts";
import { controlCacheOf } from "./control-cache.ts";
import type { ControlRecord, Invalidation } from "./record.ts";

/**
 * Follows the control record for a limiter. Drops all cached state that an invalidation affects, so that the next decision goes to
 * the store: denials are forgotten, and leases are returned. `perCallPolicies` returns the policies that calls have passed.
 * Undefined if the store has no control record.
 */
export function followControl(
  ownPolicy: CompiledPolicy,
  monitor: StoreMonitor | undefined,
  perCallPolicies: () => Iterable<CompiledPolicy>,
): LimiterControl | undefined {
  const { store } = ownPolicy;
  if (monitor === undefined || store.transport?.followsControl !== true) return undefined;
  const { owner } = store;
  const deps = { store, monitor };
  const control = controlCacheOf(store);
  const denials = denyCacheOf(owner);
  let invalidationCallback = (_?: string): void => {};
  let recordCallback = (_: ControlRecord): void => {};

  function applyInvalidation({ limiter, subject }: Invalidation): void {
    const counters = [ownPolicy, ...perCallPolicies()].flatMap((policy) =>
      countersOfLimiter(policy, limiter, subject),
    );
    if (counters.length === 0) return;
    denials.invalidate(counters, store.now());
    endLeases(owner, counters);
    for (const { key } of counters) invalidationCallback(key);
  }

  // The cache does not keep the follower alive, so that a limiter that is dropped without `close` can be collected.
  const follower: LimiterControl & Follower = {
    cache: control,
    refresh: () => control.refresh(deps),
    onRecord(callback) {
      recordCallback = callback;
    },
    onInvalidation(callback) {
      invalidationCallback = callback;
    },
    onUpdate({ record, invalidations, invalidatesAll }) {
      recordCallback(record);
      invalidations.forEach(applyInvalidation);
      if (!invalidatesAll) return;
      denials.invalidateAll(store.now());
      endAllLeases(owner);
      invalidationCallback();
    },
    stop: () => unfollow(),
  };
  const unfollow = control.follow(follower);
  return follower;
}
