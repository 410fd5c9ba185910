import type { Decision } from "../common/decision.ts";
import { isCharging } from "../operations/decide-call.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { decisionOf } from "./decode-reply.ts";
import { denyCacheOf } from "./deny-cache.ts";
import { closeLeases } from "./lease-holders.ts";
import type { DecisionRequest, Stage, StoreDecision } from "./stage.ts";

/**
 * Answers known denials from the deny cache, unless `remembers` is false. Changes drop the cached denials of their counters
 * before and after the call.
 */
export function rememberDenials(next: Stage, counted: CompiledPolicy, remembers: boolean): Stage {
  const { store } = counted;
  const denials = denyCacheOf(store.owner);

  /** A known denial; never one that may set a block, which only the store can do. */
  function denyKnown(request: DecisionRequest): Decision | undefined {
    const { counters, cost, mode, sent } = request;
    const known = denials.find(counters, cost, sent);
    if (known === undefined) return undefined;
    const maySetBlock = mode === "enforce" && counters.some(({ shape }) => shape.blocks);
    if (maySetBlock && !known.blocked) return undefined;
    return decisionOf(request, known, "deny-cache");
  }

  function onDecision(
    request: DecisionRequest,
    { allowed, cacheableReplies }: StoreDecision,
  ): void {
    if (allowed) {
      if (denials.mayKnow) denials.forgetKnown(request.counters, store.now());
    } else if (remembers && cacheableReplies.length > 0) {
      denials.remember(cacheableReplies, request.cost, request.sent, store.now());
    }
  }

  function onDenial(request: DecisionRequest, answer: StoreDecision): void {
    if (!answer.allowed) onDecision(request, answer);
  }

  return {
    ...next,

    decide(request) {
      request.sent = store.now();
      const charges = isCharging(request.mode);
      if (charges && remembers && denials.mayKnow) {
        const denied = denyKnown(request);
        if (denied !== undefined) return denied;
      }
      // A request that charges nothing changes no wait, but its denial is cached too.
      if (charges || remembers) request.onDecision = charges ? onDecision : onDenial;
      return next.decide(request);
    },

    async change(mutation) {
      const { counters, endsLeases } = mutation;
      denials.forget(counters, store.now());
      try {
        return await next.change(mutation);
      } finally {
        denials.forget(counters, store.now());
        // Closes leases taken before the call or during it.
        if (endsLeases === true) closeLeases(store.owner, counters as readonly SubjectCounter[]);
      }
    },
  };
}
