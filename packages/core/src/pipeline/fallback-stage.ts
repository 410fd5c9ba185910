import { shareByClient } from "../common/client-state.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import type { DecisionRequest } from "./decision-request.ts";
import { createDecision } from "./decision-request.ts";
import { scaleToShare } from "./local-share.ts";
import { createMemoryStage } from "./memory-stage.ts";
import type { Stage } from "./stage.ts";

/** The store in this process for a client's local counts: limiters that share counters in Redis share them here too. */
const localStoreOf = shareByClient("localCounts", () => requireStore(memoryStore()));

/** The `retryAfterMs` of a denial by `onUnavailable: "deny"`: Headgate notices within a second that a store answers again. */
const DENY_RETRY_MS = 1_000;

/** How requests are decided while the store is unavailable. */
export interface FallbackOptions {
  readonly onUnavailable: OnUnavailable;
  /** The share of each limit that this process may admit by itself, above 0 and up to 1. */
  readonly localShare: number;
}

/** The stage that decides while the store is unavailable. */
export interface FallbackStage extends Stage {
  readonly onUnavailable: OnUnavailable;
  /** The counter of this process's share of a counter's limits. Receipts of its own decisions have such counters already. */
  localShareOf(counter: SubjectCounter): SubjectCounter;
}

/**
 * Decides in place of the store, as configured by `onUnavailable`. Its counts stay in this process until they have drained, so
 * that a flapping store does not grant a new budget with each outage. Nothing is written back to the store.
 */
export function createFallbackStage(
  policy: CompiledPolicy,
  { onUnavailable, localShare }: FallbackOptions,
): FallbackStage {
  const { owner } = policy.store;
  const store = localStoreOf(owner);
  const local = createMemoryStage(policy, store, "local", owner);
  const localShareOf = scaleToShare(localShare);

  /** The request on this process's share of the limits. Its denials set no block, because the counts are local. */
  function onLocalShare(request: DecisionRequest): DecisionRequest {
    const { counters, allCounters, mode } = request;
    return {
      ...request,
      counters: counters.map(localShareOf),
      allCounters: allCounters?.map(localShareOf),
      mode: mode === "enforce" ? "charge" : mode,
    };
  }

  return {
    ...local,
    onUnavailable,
    localShareOf,
    decide(request) {
      if (onUnavailable === "local") return local.decide(onLocalShare(request));
      const allowed = onUnavailable === "allow";
      return createDecision(request, {
        allowed,
        limits: [],
        receipts: [],
        source: onUnavailable,
        retryAfterMs: DENY_RETRY_MS,
      });
    },
  };
}

/**
 * How to decide when the store cannot answer: by counting in this process, by admitting every request, or by denying every
 * request.
 */
export type OnUnavailable = "local" | "allow" | "deny";
