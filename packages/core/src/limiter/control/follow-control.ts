import type { Order } from "../../control/record.ts";
import type { CountedPolicy } from "../counted-policy.ts";
import { countersOfLimiter } from "../counters.ts";
import { denyCacheOf } from "../deny-cache.ts";
import { closeAllLeases, closeLeases } from "../leases/lease-accounts.ts";
import type { WaitQueue } from "../line/line.ts";
import type { StoreWatch } from "../outage/outage.ts";
import type { LimiterControl } from "./control.ts";
import { controlOf } from "./known-control.ts";

/**
 * Follows the control record for a limiter: what an order is about is forgotten, so that the store is asked anew. Denials are not
 * known any more, leases are given back, and who waits in line asks again. Undefined where the store has no such record.
 */
export function followControl(
  counted: CountedPolicy,
  watch: StoreWatch | undefined,
  queue: WaitQueue,
): LimiterControl | undefined {
  const { store } = counted;
  if (watch === undefined || store.remote?.isControlled !== true) return undefined;
  const { owner } = store;
  const place = { store, watch };
  const control = controlOf(store);
  const denials = denyCacheOf(owner);

  function obey({ limiter, subject }: Order): void {
    const counters = countersOfLimiter(counted, limiter, subject);
    if (counters.length === 0) return;
    denials.forget(counters, store.now());
    closeLeases(owner, counters);
    for (const { key } of counters) queue.wake(key);
  }

  const stop = control.follow(({ orders, isAll }) => {
    orders.forEach(obey);
    if (!isAll) return;
    denials.forgetAll(store.now());
    closeAllLeases(owner);
    queue.wake();
  });
  return {
    refresh: () => control.refresh(place),
    get record() {
      return control.record;
    },
    now: () => control.now(),
    stop,
  };
}
