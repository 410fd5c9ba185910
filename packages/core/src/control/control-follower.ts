import type { StoreMonitor } from "../health/outage.ts";
import { denyCacheOf } from "../pipeline/deny-cache.ts";
import { endAllLeases, endLeases } from "../pipeline/lease-holders.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { countersOfLimiter } from "../policy/counters.ts";
import type { Follower, LimiterControl } from "./control.ts";
import { controlOf } from "./control-cache.ts";
import type { ControlRecord, Order } from "./record.ts";

/**
 * Follows the control record for a limiter. Anything cached that an order affects is dropped, so that the store is asked again:
 * denials are forgotten, and leases are returned. `otherPolicies` returns the policies of other shapes that calls have passed.
 * Undefined if the store has no control record.
 */
export function followControl(
  counted: CompiledPolicy,
  watch: StoreMonitor | undefined,
  otherPolicies: () => Iterable<CompiledPolicy>,
): LimiterControl | undefined {
  const { store } = counted;
  if (watch === undefined || store.remote?.isControlled !== true) return undefined;
  const { owner } = store;
  const place = { store, watch };
  const control = controlOf(store);
  const denials = denyCacheOf(owner);
  let announce = (_?: string): void => {};
  let tell = (_: ControlRecord): void => {};

  function applyOrders({ limiter, subject }: Order): void {
    const counters = [counted, ...otherPolicies()].flatMap((policy) =>
      countersOfLimiter(policy, limiter, subject),
    );
    if (counters.length === 0) return;
    denials.invalidate(counters, store.now());
    endLeases(owner, counters);
    for (const { key } of counters) announce(key);
  }

  // The known control does not keep this alive: a limiter that is dropped without `close` can be collected.
  const followed: LimiterControl & Follower = {
    known: control,
    refresh: () => control.refresh(place),
    onRecord(callback) {
      tell = callback;
    },
    onOrder(callback) {
      announce = callback;
    },
    onNews({ record, orders, isAll }) {
      tell(record);
      orders.forEach(applyOrders);
      if (!isAll) return;
      denials.invalidateAll(store.now());
      endAllLeases(owner);
      announce();
    },
    stop: () => unfollow(),
  };
  const unfollow = control.follow(followed);
  return followed;
}
