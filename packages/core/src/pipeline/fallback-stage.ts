import type { Algorithm, CompiledLimit } from "../algorithms/algorithm.ts";
import { recompileLimit } from "../algorithms/compile-policy.ts";
import { shareByClient } from "../common/client-state.ts";
import type { Limit } from "../common/policy.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import type { DecisionRequest } from "./decision-request.ts";
import { createDecision } from "./decision-request.ts";
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
      const { cost, upTo = cost } = request;
      return createDecision(allowed ? { ...request, cost: upTo } : request, {
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

const NONE: readonly never[] = [];

/**
 * Returns a function that maps a counter to the counter of this process's share of its limits. The share is above 0 and up to 1;
 * each limit is rounded down, to at least one unit if it grants any. A cost that fits the limit but not the share counts as the
 * whole share. Thresholds are not reported, because this process does not know the usage of the others.
 */
export function scaleToShare(share: number): (counter: SubjectCounter) => SubjectCounter {
  if (share === 1) {
    return (counter) =>
      counter.notifyingLimits.length === 0 ? counter : { ...counter, notifyingLimits: NONE };
  }
  // Weak, because groups with overridden limits come and go.
  const shared = new WeakMap<LimitGroup, LimitGroup>();
  return (counter) => {
    const group = shared.get(counter.group) ?? scaleGroup(counter.group, share);
    shared.set(counter.group, group);
    return {
      ...counter,
      group,
      limits: group.limits,
      notifyingLimits: NONE,
      keyspace: `${counter.keyspace}:${share}`,
    };
  };
}

function scaleGroup(group: LimitGroup, share: number): LimitGroup {
  return { ...group, limits: group.limits.map((limit) => scaleLimit(limit, share)) };
}

function scaleLimit(whole: CompiledLimit, share: number): CompiledLimit {
  // Rounded up a little, for shares such as 1 / 49 that a double cannot represent.
  const scale = (quota: number): number =>
    Math.min(quota, Math.max(1, Math.floor(quota * share * (1 + 2 ** -50))));
  const compiled = recompileLimit(whole, scaleConfigured(whole.source, scale));
  const algorithm = capCosts(compiled.algorithm, whole.limit, compiled.limit);
  // Clients see the limit under its usual name.
  return { ...compiled, algorithm, name: whole.name, per: whole.per };
}

function scaleConfigured(limit: Limit, scale: (quota: number) => number): Limit {
  switch (limit.algorithm) {
    case "gcra":
      return { ...limit, limit: scale(limit.limit), burst: limit.burst && scale(limit.burst) };
    case "tokenBucket":
      return { ...limit, capacity: scale(limit.capacity), refill: scale(limit.refill) };
    default:
      return { ...limit, limit: scale(limit.limit) };
  }
}

/** The same algorithm, but a cost up to the whole limit is capped at the share. */
function capCosts(
  algorithm: Algorithm<unknown, unknown>,
  whole: number,
  share: number,
): Algorithm<unknown, unknown> {
  const cap = (cost: number): number => (cost <= whole ? Math.min(cost, share) : cost);
  /** The capped units that a cost adds to the units already charged to the same request. */
  const additionalUnits = (cost: number, alreadyCharged = 0): number =>
    cap(alreadyCharged + cost) - cap(alreadyCharged);
  return {
    ...algorithm,
    ...(algorithm.acquireSlots && {
      acquireSlots: (state, quota, holder, number) =>
        algorithm.acquireSlots?.(state, quota, holder, cap(number)),
    }),
    waitTime: (state, quota, cost) => algorithm.waitTime(state, quota, cap(cost)),
    spend(state, quota, cost, alreadyCharged) {
      const units = additionalUnits(cost, alreadyCharged);
      if (units > 0) algorithm.spend(state, quota, units);
    },
    refund(state, quota, cost, age, alreadyCharged) {
      const units = additionalUnits(cost, alreadyCharged);
      return units > 0 && algorithm.refund(state, quota, units, age);
    },
  };
}
