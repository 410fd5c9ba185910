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

/** The backend that `redisStore` adds to its limiters. */
export const redisBackend: StoreBackend = {
  open(policy, failure, inFlight, perCallPolicies) {
    const { store } = policy;
    const { transport } = store;
    const { limiter } = policy.labels;
    const usage = startUsage(store, limiter);
    if (transport === undefined) return { ...openInMemory(policy), usage };
    const monitor = monitorStore(store.owner, transport, failure);
    const release = monitor.use();
    const fallback = createFallbackStage(policy, failure);
    const deps = { policy, monitor, transport };
    const redisStage = createRedisStage(deps, fallback, inFlight);
    const denyCacheStage = createDenyCacheStage(redisStage, policy, failure.denyCache);
    const { lease } = failure;
    const firstStage =
      lease === undefined ? denyCacheStage : createLeaseStage(denyCacheStage, lease, deps);
    const close = async (): Promise<void> => {
      await firstStage.close();
      release();
    };
    const pipeline: Stage = { ...firstStage, close };
    const control = followControl(policy, monitor, () => perCallPolicies.policies());
    const overrides =
      control &&
      createOverrides(control, policy, {
        monitor,
        endLeases: pipeline.endLeases,
        perCallPolicies: () => perCallPolicies.policies(),
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
