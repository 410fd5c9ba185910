import { channel } from "node:diagnostics_channel";
import type { Decision } from "../common/decision.ts";
import { CHANNELS, publish } from "../common/publish.ts";
import { toStoreFailure } from "../health/store-failure.ts";
import type { StoreDecision } from "../operations/decide-call.ts";
import { isCharging } from "../operations/decide-call.ts";
import { slotsOperation } from "../operations/slots.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import type { HeldSlots, SlotKeeper } from "../slots/held-slots.ts";
import { createSlotKeeper, prepareSlots, refundsOf } from "../slots/held-slots.ts";
import type { PolicyOnServers } from "./cross-slot.ts";
import { decideByHashSlot, decideInOneCall, mutateOnServers } from "./cross-slot.ts";
import type { DecisionRequest } from "./decision-request.ts";
import { createDecision, toDecision } from "./decision-request.ts";
import { denyCacheOf } from "./deny-cache.ts";
import type { CallsInProgress, InFlight } from "./in-flight.ts";
import { endCall } from "./in-flight.ts";
import { endLeases } from "./lease-holders.ts";
import type { DegradedDecision, Stage } from "./stage.ts";
import { publishThresholds } from "./thresholds.ts";

const NONE: readonly never[] = [];

const degradedDecisions = channel(CHANNELS.degraded);

/**
 * The last stage of a limiter on Redis: decides with a cached denial, unless `cachesDenials` is false, otherwise with one script
 * call, and with `fallback` if Redis does not answer in time. Mutations drop the cached denials of their counters before and after
 * the call, and end the leases of these counters if they have to.
 */
export function createRedisStage(
  servers: PolicyOnServers,
  fallback: Stage,
  inFlight: InFlight,
  cachesDenials: boolean,
): Stage {
  const { policy, monitor } = servers;
  const { store } = policy;
  const denyCache = denyCacheOf(store.owner);
  let slotKeeper: SlotKeeper | undefined;

  /** A cached denial; undefined also if the denial may have to set a block, which only the store can do. */
  function denyFromCache(request: DecisionRequest, now: number): Decision | undefined {
    const { counters, cost, mode } = request;
    const denial = denyCache.find(counters, cost, now);
    if (denial === undefined) return undefined;
    const maySetBlock = mode === "enforce" && counters.some(({ shape }) => shape.blocksOnDenial);
    if (maySetBlock && !denial.blocked) return undefined;
    // The properties of `toDecision`, in its order: objects of another layout, or made by spreading, take microseconds.
    return createDecision(request, {
      allowed: false,
      blocked: denial.blocked,
      limits: denial.limits,
      source: "deny-cache",
      receipts: NONE,
      charges: undefined,
      slots: undefined,
    });
  }

  function slotsFor(counters: readonly SubjectCounter[]): HeldSlots | undefined {
    slotKeeper ??= createSlotKeeper(
      store,
      (call, key) => monitor.run(store, slotsOperation, call, key),
      policy.labels,
    );
    return prepareSlots(slotKeeper, counters);
  }

  /** The decision of the store, which the deny cache takes into account. `sentAt` is when the request was sent. */
  function conclude(
    request: DecisionRequest,
    decisions: readonly StoreDecision[],
    sentAt: number,
    slots: HeldSlots | undefined,
    isCacheable: boolean,
  ): Decision {
    const { counters, cost, mode } = request;
    const decision = toDecision(request, decisions, "store", slots);
    if (!decision.wouldAllow) {
      // The denial of a request that charges nothing is cached, too.
      if (cachesDenials && isCacheable) denyCache.add(decisions, cost, sentAt, store.now());
    } else if (denyCache.mayHit && isCharging(mode)) {
      denyCache.invalidateCached(counters, store.now());
    }
    return decision;
  }

  /** Decides with the fallback after a failure of the store; rejects with every other error. */
  async function decideWithFallback(
    request: DecisionRequest,
    calls: CallsInProgress,
    error: unknown,
  ): Promise<Decision> {
    endCall(calls);
    const reason = toStoreFailure(error, monitor.log);
    const decision = await fallback.decide(request);
    if (degradedDecisions.hasSubscribers) {
      const { limiter } = policy.labels;
      publish(degradedDecisions, { limiter, decision, reason } satisfies DegradedDecision);
    }
    return decision;
  }

  return {
    decide(request) {
      const { counters } = request;
      const sentAt = store.now();
      const charges = isCharging(request.mode);
      if (charges && cachesDenials && denyCache.mayHit) {
        const denied = denyFromCache(request, sentAt);
        if (denied !== undefined) return denied;
      }
      const slots = charges && request.policy.hasSlots ? slotsFor(counters) : undefined;
      const call = slots === undefined ? request : { ...request, holder: slots.holder };
      const calls = inFlight.current;
      calls.count += 1;
      if (counters.length > 1) {
        return decideByHashSlot(servers, call, slots).then(
          ({ decisions, isCacheable }) => {
            endCall(calls);
            return conclude(request, decisions, sentAt, slots, isCacheable);
          },
          (error) => decideWithFallback(request, calls, error),
        );
      }
      return decideInOneCall(monitor, request.policy, call, request.usedTimeoutMs).then(
        (decision) => {
          endCall(calls);
          publishThresholds(request.policy, decision.thresholds);
          return conclude(request, [decision], sentAt, slots, true);
        },
        (error) => decideWithFallback(request, calls, error),
      );
    },

    async mutate(mutation) {
      const { counters, endsLeases, givesRoom } = mutation;
      denyCache.invalidate(counters, store.now());
      try {
        return await mutateOnServers(servers, mutation);
      } finally {
        denyCache.invalidate(counters, store.now());
        // Ends leases that were taken before the call or during it.
        if (endsLeases === true) endLeases(store.owner, counters as readonly SubjectCounter[]);
        if (givesRoom === true) refundsOf(store.owner).notify(counters);
      }
    },

    async close() {},
  };
}
