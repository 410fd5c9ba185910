import { shareByClient } from "../common/client-state.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import { toDecision } from "./decode-reply.ts";
import { scaleToShare } from "./local-share.ts";
import { createMemoryStage } from "./memory-stage.ts";
import type { DecisionRequest, Stage } from "./stage.ts";

/** Limiters that share counters on a client's store also share them in this process. */
const localStoreOf = shareByClient("localCounts", () => requireStore(memoryStore()));

/** How long a denial by `onUnavailable: "deny"` lasts: Headgate notices within a second that a store answers again. */
const DENY_RETRY_MS = 1_000;

/** How this process decides alone. */
export interface FallbackOptions {
  readonly onUnavailable: OnUnavailable;
  /** The share of each limit that this process admits by itself. */
  readonly localShare: number;
}

/** Decides when the store cannot. */
export interface FallbackStage extends Stage {
  readonly onUnavailable: OnUnavailable;
  /** The counter for this process's share of the limits. Receipts of decisions made here already have such counters. */
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

  /** The request, on this process's share. Its denials set no block, because this process counts alone. */
  function onLocalShare(request: DecisionRequest): DecisionRequest {
    const { counters, allCounters, mode } = request;
    return {
      ...request,
      counters: counters.map(localShareOf),
      allCounters: allCounters?.map(localShareOf),
      mode: mode === "enforce" ? "charge" : mode,
      slots: undefined,
      holder: undefined,
    };
  }

  return {
    ...local,
    onUnavailable,
    localShareOf,
    decide(request) {
      if (onUnavailable === "local") return local.decide(onLocalShare(request));
      const allowed = onUnavailable === "allow";
      const answer = { allowed, blocked: false, limits: [], receipts: [] };
      const uncounted = { ...request, slots: undefined };
      return toDecision(uncounted, answer, onUnavailable, DENY_RETRY_MS);
    },
  };
}

/**
 * How to decide when the store cannot answer: by counting in this process, by admitting every request, or by denying every
 * request.
 */
export type OnUnavailable = "local" | "allow" | "deny";
