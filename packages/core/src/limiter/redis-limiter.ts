import type { LuaSource } from "../algorithms/algorithm.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import { ControlFollower } from "../control/control-follower.ts";
import { requireUndelivered } from "../health/store-failure.ts";
import { monitorStore } from "../health/store-monitor.ts";
import { decide, operationFor } from "../operations/decide.ts";
import { probe, probeKeyFor } from "../operations/probe.ts";
import { createFallbackStage } from "../pipeline/fallback-stage.ts";
import { groupByHashSlot } from "../pipeline/hash-slots.ts";
import { createLeaseStage } from "../pipeline/leases/lease-stage.ts";
import { createRedisStage } from "../pipeline/redis-stage.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { countersOf } from "../policy/counters.ts";
import {
  addLimiterToRegistry,
  recordHttpUse,
  removeFromRegistry,
  trackPerCallPolicies,
} from "../registry/add-to-registry.ts";
import { composeScript } from "../scripts/compose-script.ts";
import type { ScriptTransport } from "../store/store.ts";
import { withTimeout } from "../store/with-timeout.ts";
import { startUsage, stopUsage } from "../usage/process-usage.ts";
import type { LimiterCore } from "./limiter-internals.ts";
import type { StoreBackend } from "./store-backend.ts";
import { openInMemory } from "./store-backend.ts";

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
    const servers = { policy, monitor, transport };
    const redisStage = createRedisStage(servers, fallback, inFlight, failure.denyCache);
    const { lease } = failure;
    const firstStage =
      lease === undefined ? redisStage : createLeaseStage(redisStage, lease, servers);
    const close = async (): Promise<void> => {
      await firstStage.close();
      release();
    };
    const pipeline: Stage = { ...firstStage, close };
    const control =
      transport.followsControl === true
        ? new ControlFollower({
            policy,
            monitor,
            perCallPolicies: () => perCallPolicies.policies(),
            endLeases: pipeline.endLeases,
          })
        : undefined;
    return { pipeline, fallback, monitor, control, usage };
  },
  register: addLimiterToRegistry,
  recordUse: recordHttpUse,
  trackPerCallPolicies,
  unregister: (store, name) => removeFromRegistry(store, "limiter", name),
  flushUsage: stopUsage,
  warmUp,
};

/**
 * The number of subjects used to find a key on each server of a cluster. With ten servers, one is missed in 1 of 1,000 starts.
 */
const SUBJECTS = 64;

/**
 * Prepares a limiter's store for the first decision: connects, reads the control record, and loads the scripts on each server.
 * Resolves with whether the store answered in time.
 */
async function warmUp({ policy, monitor, control }: LimiterCore): Promise<boolean> {
  const { store } = policy;
  const { transport } = store;
  if (monitor === undefined || transport === undefined) return true;
  const [first] = warmUpCounters(policy, 0) as [SubjectCounter, ...SubjectCounter[]];
  try {
    const answered = monitor.run(store, probe, probeKeyFor(first.key), first.key);
    await Promise.all([answered, control?.refresh()]);
  } catch (error) {
    requireUndelivered(error, monitor.log);
    return false;
  }
  // A script that is not loaded by then is loaded by the first decision that needs it.
  await withTimeout(monitor.timeoutMs, loadScripts(policy, transport), () => undefined);
  return true;
}

/**
 * The counters of a made-up subject in all dimensions. Each dimension has another name, so that on a cluster they are in
 * different hash slots, like those of a request. Nothing is charged to them.
 */
function warmUpCounters(counted: CompiledPolicy, subject: number): readonly SubjectCounter[] {
  const dimensions = counted.groups.map(({ dimension }) => dimension);
  const named = dimensions.filter((dimension) => dimension !== GLOBAL_DIMENSION);
  return countersOf(
    counted,
    Object.fromEntries(named.map((dimension) => [dimension, `ready-${subject}-${dimension}`])),
  );
}

/** Loads the scripts once on each server that owns one of the keys. */
async function loadScripts(counted: CompiledPolicy, transport: ScriptTransport): Promise<void> {
  if (transport.loadScript === undefined) return;
  const loads = new Map<string, Promise<unknown>>();
  for (let subject = 0; subject < SUBJECTS; subject += 1) {
    for (const counters of groupByHashSlot(warmUpCounters(counted, subject), transport)) {
      const { key } = counters[0] as SubjectCounter;
      for (const script of scriptsOf(counters)) {
        const nodeScript = `${transport.nodeOf(key)} ${script.sha1}`;
        if (!loads.has(nodeScript)) loads.set(nodeScript, transport.loadScript(script, key));
      }
    }
  }
  await Promise.allSettled(loads.values());
}

/** The scripts of a single decision, of a batch, and of a peek. */
function scriptsOf(counters: readonly SubjectCounter[]): readonly LuaSource[] {
  const call = { counters, cost: 1, mode: "enforce" } as const;
  const prepared = [
    decide.encode([call], composeScript, ""),
    decide.encode([call, call], composeScript, ""),
    operationFor("peek").encode([call], composeScript, ""),
  ];
  return prepared.map(({ script }) => script);
}
