import { followControl } from "../control/control-follower.ts";
import { createOverrides } from "../control/limiter-overrides.ts";
import { monitorStore } from "../health/store-monitor.ts";
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
import type { StoreBackend } from "./store-backend.ts";
import { openInMemory } from "./store-backend.ts";
import { warmUp } from "./warm-up.ts";

/** Added by `redisStore` to the limiters on it. */
export const redisBackend: StoreBackend = {
  open(counted, failure, inFlight, shapes) {
    const { store } = counted;
    const { transport } = store;
    const { limiter } = counted.labels;
    const usage = startUsage(store, limiter);
    if (transport === undefined) return { ...openInMemory(counted), usage };
    const monitor = monitorStore(store.owner, transport, failure);
    const release = monitor.use();
    const fallback = createFallbackStage(counted, failure);
    const deps = { policy: counted, monitor, transport };
    const redisStage = createRedisStage(deps, fallback, inFlight);
    const denyCacheStage = createDenyCacheStage(redisStage, counted, failure.denyCache);
    const { lease } = failure;
    const first =
      lease === undefined ? denyCacheStage : createLeaseStage(denyCacheStage, lease, deps);
    const close = async (): Promise<void> => {
      await first.close();
      release();
    };
    const pipeline: Stage = { ...first, close };
    const control = followControl(counted, monitor, () => shapes.policies());
    const overrides =
      control &&
      createOverrides(control, counted, {
        monitor,
        endLeases: pipeline.endLeases,
        otherPolicies: () => shapes.policies(),
      });
    return { pipeline, fallback, monitor, control, overrides, usage };
  },
  register: addLimiterToRegistry,
  recordUse: recordHttpUse,
  trackPerCallPolicies,
  unregister: (store, name) => removeFromRegistry(store, "limiter", name),
  flushUsage: stopUsage,
  warmUp,
};
