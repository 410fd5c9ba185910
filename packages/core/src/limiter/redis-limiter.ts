import { followControl } from "../control/control-follower.ts";
import { createOverrides } from "../control/limiter-overrides.ts";
import { watchStore } from "../health/store-monitor.ts";
import { createDenyCacheStage } from "../pipeline/deny-cache-stage.ts";
import { createFallbackStage } from "../pipeline/fallback-stage.ts";
import { createLeaseStage } from "../pipeline/leases/lease-stage.ts";
import { createRedisStage } from "../pipeline/redis-stage.ts";
import type { Stage } from "../pipeline/stage.ts";
import {
  addLimiterToRegistry,
  recordHttpUse,
  removeFromRegistry,
  trackPerCallPolicies,
} from "../registry/add-to-registry.ts";
import { startUsage, stopUsage } from "../usage/usage.ts";
import type { OnServers } from "./store-backend.ts";
import { inMemory } from "./store-backend.ts";
import { makeReady } from "./warm-up.ts";

/** Added by `redisStore` to the limiters on it. */
export const onServers: OnServers = {
  open(counted, failure, flights, shapes) {
    const { store } = counted;
    const { transport } = store;
    const { limiter } = counted.labels;
    const usage = startUsage(store, limiter);
    if (transport === undefined) return { ...inMemory(counted), usage };
    const watch = watchStore(store.owner, transport, failure);
    const release = watch.use();
    const fallback = createFallbackStage(counted, failure);
    const place = { policy: counted, monitor: watch, transport: transport };
    const server = createRedisStage(place, fallback, flights);
    const denials = createDenyCacheStage(server, counted, failure.denyCache);
    const { lease } = failure;
    const first = lease === undefined ? denials : createLeaseStage(denials, lease, place);
    const close = async (): Promise<void> => {
      await first.close();
      release();
    };
    const chain: Stage = { ...first, close };
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
  list: addLimiterToRegistry,
  noteUse: recordHttpUse,
  newsOfShapes: trackPerCallPolicies,
  unlist: (store, name) => removeFromRegistry(store, "limiter", name),
  endUsage: stopUsage,
  ready: makeReady,
};
