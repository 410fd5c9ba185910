import { rememberDenials } from "../deciding/denials.ts";
import { decideWithoutStore } from "../deciding/fallback.ts";
import { payFromLeases } from "../deciding/leases/lease-decider.ts";
import type { Link } from "../deciding/link.ts";
import { decideOnServers } from "../deciding/server.ts";
import { followControl } from "../fleet/control/follow-control.ts";
import { createOverrides } from "../fleet/control/limiter-overrides.ts";
import { listLimiter, newsOfShapes, noteUse, unlist } from "../fleet/directory/listings.ts";
import { countUsage, endUsage } from "../fleet/usage/usage.ts";
import { watchStore } from "../health/store-monitor.ts";
import { makeReady } from "./make-ready.ts";
import type { OnServers } from "./server-side.ts";
import { inMemory } from "./server-side.ts";

/** Added by `redisStore` to the limiters on it. */
export const onServers: OnServers = {
  open(counted, failure, flights, shapes) {
    const { store } = counted;
    const { remote } = store;
    const { limiter } = counted.reported;
    const usage = countUsage(store, limiter);
    if (remote === undefined) return { ...inMemory(counted), usage };
    const watch = watchStore(store.owner, remote, failure);
    const release = watch.use();
    const fallback = decideWithoutStore(counted, failure);
    const place = { counted, watch, remote };
    const server = decideOnServers(place, fallback, flights);
    const denials = rememberDenials(server, counted, failure.denyCache);
    const { lease } = failure;
    const first = lease === undefined ? denials : payFromLeases(denials, lease, place);
    const close = async (): Promise<void> => {
      await first.close();
      release();
    };
    const chain: Link = { ...first, close };
    const control = followControl(counted, watch, () => shapes.policies());
    const overrides =
      control &&
      createOverrides(control, counted, {
        watch,
        endLeases: chain.endLeases,
        otherPolicies: () => shapes.policies(),
      });
    return { chain, fallback, watch, control, overrides, usage };
  },
  list: listLimiter,
  noteUse,
  newsOfShapes,
  unlist: (store, name) => unlist(store, "limiter", name),
  endUsage,
  ready: makeReady,
};
