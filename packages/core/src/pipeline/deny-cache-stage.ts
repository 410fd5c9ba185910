import type { Decision } from "../common/decision.ts";
import { isCharging } from "../operations/decide-call.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { toDecision } from "./decode-reply.ts";
import { denyCacheOf } from "./deny-cache.ts";
import { endLeases } from "./lease-holders.ts";
import type { DecisionRequest, Stage, StoreDecision } from "./stage.ts";

/**
 * Decides requests with a cached denial without a call, unless `isEnabled` is false. Mutations drop the cached denials of their
 * counters before and after the call, and end the leases of these counters if they have to.
 */
export function createDenyCacheStage(
  next: Stage,
  policy: CompiledPolicy,
  isEnabled: boolean,
): Stage {
  const { store } = policy;
  const cache = denyCacheOf(store.owner);

  /** A cached denial; undefined also if the denial may have to set a block, which only the store can do. */
  function denyFromCache(request: DecisionRequest): Decision | undefined {
    const { counters, cost, mode, sentAt } = request;
    const denial = cache.find(counters, cost, sentAt);
    if (denial === undefined) return undefined;
    const maySetBlock = mode === "enforce" && counters.some(({ shape }) => shape.blocksOnDenial);
    if (maySetBlock && !denial.blocked) return undefined;
    return toDecision(request, denial, "deny-cache");
  }

  function onDecision(
    request: DecisionRequest,
    { allowed, cacheableReplies }: StoreDecision,
  ): void {
    if (allowed) {
      if (cache.mayHit) cache.invalidateCached(request.counters, store.now());
    } else if (isEnabled && cacheableReplies.length > 0) {
      cache.add(cacheableReplies, request.cost, request.sentAt, store.now());
    }
  }

  function onDenial(request: DecisionRequest, storeDecision: StoreDecision): void {
    if (!storeDecision.allowed) onDecision(request, storeDecision);
  }

  return {
    ...next,

    decide(request) {
      request.sentAt = store.now();
      const charges = isCharging(request.mode);
      if (charges && isEnabled && cache.mayHit) {
        const denied = denyFromCache(request);
        if (denied !== undefined) return denied;
      }
      // A request that charges nothing changes no wait, but its denial is cached too.
      if (charges || isEnabled) request.onDecision = charges ? onDecision : onDenial;
      return next.decide(request);
    },

    async mutate(mutation) {
      const { counters, endsLeases } = mutation;
      cache.invalidate(counters, store.now());
      try {
        return await next.mutate(mutation);
      } finally {
        cache.invalidate(counters, store.now());
        // Ends leases that were taken before the call or during it.
        if (endsLeases === true) endLeases(store.owner, counters as readonly SubjectCounter[]);
      }
    },
  };
}
