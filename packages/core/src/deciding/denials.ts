import type { Decision } from "../common/decision.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { SubjectCounter } from "../counting/counters.ts";
import { isCharging } from "../store/decide-call.ts";
import { decisionOf } from "./ask.ts";
import { denyCacheOf } from "./deny-cache.ts";
import { closeLeases } from "./lease-holders.ts";
import type { Answer, Ask, Link } from "./link.ts";

/**
 * Answers known denials from the deny cache, unless `remembers` is false. Changes drop the cached denials of their counters
 * before and after the call.
 */
export function rememberDenials(next: Link, counted: CountedPolicy, remembers: boolean): Link {
  const { store } = counted;
  const denials = denyCacheOf(store.owner);

  /** A known denial; never one that may set a block, which only the store can do. */
  function denyKnown(ask: Ask): Decision | undefined {
    const { counters, cost, mode, sent } = ask;
    const known = denials.find(counters, cost, sent);
    if (known === undefined) return undefined;
    const maySetBlock = mode === "enforce" && counters.some(({ shape }) => shape.blocks);
    if (maySetBlock && !known.blocked) return undefined;
    return decisionOf(ask, known, "deny-cache");
  }

  function heed(ask: Ask, { allowed, lasting }: Answer): void {
    if (allowed) {
      if (denials.mayKnow) denials.forgetKnown(ask.counters, store.now());
    } else if (remembers && lasting.length > 0) {
      denials.remember(lasting, ask.cost, ask.sent, store.now());
    }
  }

  function heedDenial(ask: Ask, answer: Answer): void {
    if (!answer.allowed) heed(ask, answer);
  }

  return {
    ...next,

    decide(ask) {
      ask.sent = store.now();
      const charges = isCharging(ask.mode);
      if (charges && remembers && denials.mayKnow) {
        const denied = denyKnown(ask);
        if (denied !== undefined) return denied;
      }
      // A request that charges nothing changes no wait, but its denial is cached too.
      if (charges || remembers) ask.heed = charges ? heed : heedDenial;
      return next.decide(ask);
    },

    async change(change) {
      const { counters, endsLeases } = change;
      denials.forget(counters, store.now());
      try {
        return await next.change(change);
      } finally {
        denials.forget(counters, store.now());
        // Closes leases taken before the call or during it.
        if (endsLeases === true) closeLeases(store.owner, counters as readonly SubjectCounter[]);
      }
    },
  };
}
