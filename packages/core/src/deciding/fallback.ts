import { clientPart } from "../base/client-state.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { SubjectCounter } from "../counting/counters.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import { decisionOf } from "./ask.ts";
import type { Ask, Link } from "./link.ts";
import { decideLocally } from "./local.ts";
import { shareLimits } from "./local-limits.ts";

/** Limiters that share a budget on a client's store share it in this process, too. */
const localCountsOf = clientPart("localCounts", () => requireStore(memoryStore()));

/** How long a denial by `onUnavailable: "deny"` lasts: a store that answers again is noticed within a second. */
const DENY_RETRY_MS = 1_000;

/** What this process decides alone. */
export interface LocalPolicy {
  readonly onUnavailable: OnUnavailable;
  /** The share of each limit that this process admits. */
  readonly localShare: number;
}

/** What decides if the store cannot. */
export interface Fallback extends Link {
  readonly onUnavailable: OnUnavailable;
  /** A counter as this process counts it alone: its share of the limits. Receipts of decisions made here have such counters already. */
  shareOf(counter: SubjectCounter): SubjectCounter;
}

/**
 * Decides what the store could not, as `onUnavailable` says. Its counts in this process stay until they are as if unused, so
 * that an outage that comes and goes grants no new budget each time; nothing is written back.
 */
export function decideWithoutStore(
  counted: CountedPolicy,
  { onUnavailable, localShare }: LocalPolicy,
): Fallback {
  const { owner } = counted.store;
  const store = localCountsOf(owner);
  const local = decideLocally(counted, store, "local", owner);
  const shareOf = shareLimits(localShare);

  /** The request on this process's share. Its denials set no block, because it counts alone. */
  function shared(ask: Ask): Ask {
    const { counters, named, mode } = ask;
    return {
      ...ask,
      counters: counters.map(shareOf),
      named: named?.map(shareOf),
      mode: mode === "enforce" ? "charge" : mode,
      places: undefined,
      holder: undefined,
    };
  }

  return {
    ...local,
    onUnavailable,
    shareOf,
    decide(ask) {
      if (onUnavailable === "local") return local.decide(shared(ask));
      const allowed = onUnavailable === "allow";
      const answer = { allowed, blocked: false, limits: [], receipts: [] };
      const uncounted = { ...ask, places: undefined };
      return decisionOf(uncounted, answer, onUnavailable, DENY_RETRY_MS);
    },
  };
}

/** What decides when the store cannot answer: this process by itself, or nothing, so that all are admitted or all denied. */
export type OnUnavailable = "local" | "allow" | "deny";
