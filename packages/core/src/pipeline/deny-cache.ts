import { LRUCache } from "lru-cache";
import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { MAX_MICROS, NEVER } from "../algorithms/exact-arithmetic.ts";
import { shareByClient } from "../common/client-state.ts";
import type { LimitState } from "../common/decision.ts";
import type { Counter } from "../operations/counter.ts";
import type { CounterDecision, LimitDecision, StoreDecision } from "../operations/decide-call.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { removeHoles, toLimitState } from "./decision-request.ts";

/** How long a denial is used at most, in microseconds: another process may refund units at any time. */
const MAX_DENIAL_TTL = 1_000_000;

/** The maximum number of counters in the cache; the least recently used one is evicted first. */
const MAX_COUNTERS = 10_000;

/** The maximum number of denials of one counter, which differ in cost or in the numbers of the limits. */
const MAX_DENIALS_PER_COUNTER = 8;

interface CachedDenial {
  readonly blocked: boolean;
  readonly limits: readonly LimitState[];
}

const NONE: readonly never[] = [];

/** The part of a denial that is about one counter. It holds no counter, whose subject may be a slice of a much larger text. */
interface CounterReport extends Pick<CounterDecision, "blockedFor" | "limits"> {
  /** Whether the counter is one of slots, which are released at any time. */
  readonly isOfSlots: boolean;
  /** The time of the decision on the store's clock, in microseconds. */
  readonly now: number;
  readonly limitsAndCosts: string;
}

/** A cached denial of one cost by one counter. Times are in microseconds of `store.now()`. */
interface DenialEntry {
  readonly cost: number;
  /** The key of the counter that denied. */
  readonly counterKey: string;
  /** The numbers of the limits and, with a cost by name, the cost for each limit: with others the request may be allowed. */
  readonly limitsAndCosts: string;
  /** When the call was sent. The server decided later, so a wait counted from here ends too early, never too late. */
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly expiresAt: number;
  /** The reports on all counters of the decision, by key. */
  readonly reports: ReadonlyMap<string, CounterReport>;
}

interface CachedCounter {
  /** Denials of calls sent up to this time are ignored, because the counter was changed then. */
  readonly ignoreBefore: number;
  /** Oldest first. */
  readonly denials: DenialEntry[];
}

/**
 * Caches which costs a counter denied, and for how long, so that a denied subject that retries too early costs no call to Redis.
 * A cached denial is used only for the same cost, because a larger cost would be told too short a wait.
 */
export class DenyCache {
  /** Created for the first entry, because it allocates all of its room: the first decision of a process need not wait for that. */
  #counters: LRUCache<string, CachedCounter> | undefined;
  /** False while the cache has never held anything since `invalidateAll`, so that a decision can skip the lookup. */
  mayHit = false;
  /** Denials of calls sent up to this time are ignored, whatever their counter. */
  #ignoreBefore = Number.NEGATIVE_INFINITY;

  /**
   * A denial with the present state of the limits if one of the counters has a valid cached denial; otherwise undefined. Leaves
   * out counters on which there is no report.
   */
  find(counters: readonly SubjectCounter[], cost: number, now: number): CachedDenial | undefined {
    let denials: DenialEntry[] | undefined;
    for (const counter of counters) {
      const denial = this.#validDenial(counter, cost, now);
      if (denial === undefined) continue;
      denials ??= [];
      denials.push(denial);
    }
    if (denials === undefined) return undefined;
    const states: LimitState[] = [];
    for (const counter of counters) {
      const denial = this.#coveringDenial(counter, denials);
      const report = denial?.reports.get(counter.key);
      if (denial === undefined || report === undefined) continue;
      const elapsed = Math.max(0, Math.floor(now - denial.receivedAt));
      for (let i = 0; i < counter.limits.length; i += 1) {
        if (counter.costs?.[i] === 0) continue;
        const limit = counter.limits[i] as CompiledLimit;
        const aged = ageLimit(report.limits[i] as LimitDecision, elapsed);
        states[counter.group.positions[i] as number] = toLimitState(limit, report.now, aged);
      }
    }
    const blocked = denials.some(
      ({ counterKey, reports }) => (reports.get(counterKey) as CounterReport).blockedFor > 0,
    );
    return { blocked, limits: removeHoles(states) };
  }

  /** Caches a denial for each counter that denied, except concurrency counters, whose slots may be released at any time. */
  add(decisions: readonly StoreDecision[], cost: number, sentAt: number, receivedAt: number): void {
    const reports = new Map(decisions.flatMap(reportsByCounter));
    for (const [key, report] of reports) {
      if (report.isOfSlots) continue;
      const wait = longestWait(report);
      const expiresAt = sentAt + Math.min(wait, MAX_DENIAL_TTL);
      const { limitsAndCosts } = report;
      if (wait > 0)
        this.#addEntry({
          cost,
          counterKey: key,
          limitsAndCosts,
          sentAt,
          receivedAt,
          expiresAt,
          reports,
        });
      else this.#register(key);
    }
  }

  /**
   * Registers a counter that would have allowed, so that `invalidateCached` notes when it is charged. Until then the report on it
   * can be used, too.
   */
  #register(key: string): void {
    this.#set(key, this.#counters?.get(key) ?? { ignoreBefore: this.#ignoreBefore, denials: [] });
  }

  /** The denial whose report covers a counter: its own, or that of another counter in the same decision. */
  #coveringDenial(
    counter: SubjectCounter,
    denials: readonly DenialEntry[],
  ): DenialEntry | undefined {
    for (const denial of denials) if (denial.counterKey === counter.key) return denial;
    return denials.find((denial) => this.#wouldAllow(counter, denial));
  }

  /** The counter's denial of this cost, if it is still valid. */
  #validDenial(counter: SubjectCounter, cost: number, now: number): DenialEntry | undefined {
    const denials = this.#counters?.get(counter.key)?.denials ?? NONE;
    for (const denial of denials) {
      if (!matches(denial, cost, limitsAndCostsOf(counter))) continue;
      // A clock supplied by the application may step back.
      return now < denial.expiresAt && now >= denial.sentAt ? denial : undefined;
    }
    return undefined;
  }

  /** Drops the denials of counters that are being changed, also those of calls in flight. */
  invalidate(counters: readonly { readonly key: string }[], now: number): void {
    for (const { key } of counters) this.#set(key, { ignoreBefore: now, denials: [] });
  }

  /** Drops all denials, also those of calls in flight. */
  invalidateAll(now: number): void {
    this.#counters?.clear();
    this.mayHit = false;
    this.#ignoreBefore = now;
  }

  /** Drops the denials of cached counters that were charged: the waits may be longer now. */
  invalidateCached(counters: readonly { readonly key: string }[], now: number): void {
    for (const { key } of counters) {
      if (this.#counters?.has(key)) this.#set(key, { ignoreBefore: now, denials: [] });
    }
  }

  /** Whether the report of another counter's denial says that this counter would have allowed, with no change since. */
  #wouldAllow(counter: SubjectCounter, { reports, sentAt }: DenialEntry): boolean {
    const report = reports.get(counter.key);
    const ignoreBefore = this.#counters?.get(counter.key)?.ignoreBefore ?? this.#ignoreBefore;
    return (
      report?.limitsAndCosts === limitsAndCostsOf(counter) &&
      longestWait(report) === 0 &&
      ignoreBefore < sentAt
    );
  }

  #set(key: string, counter: CachedCounter): void {
    this.mayHit = true;
    this.#counters ??= new LRUCache({ max: MAX_COUNTERS });
    this.#counters.set(key, counter);
  }

  #addEntry(denial: DenialEntry): void {
    const { counterKey: key, cost, limitsAndCosts } = denial;
    const counter = this.#counters?.get(key) ?? { ignoreBefore: this.#ignoreBefore, denials: [] };
    const { ignoreBefore, denials } = counter;
    if (denial.sentAt <= ignoreBefore) return;
    const replaced = denials.findIndex((other) => matches(other, cost, limitsAndCosts));
    if (replaced >= 0) denials.splice(replaced, 1);
    else if (denials.length >= MAX_DENIALS_PER_COUNTER) denials.shift();
    denials.push(denial);
    this.#set(key, counter);
  }
}

/** The deny cache of a client, shared by all limiters on it. */
export const denyCacheOf: (owner: object) => DenyCache = shareByClient(
  "denials",
  () => new DenyCache(),
);

function matches(denial: DenialEntry, cost: number, limitsAndCosts: string): boolean {
  return denial.cost === cost && denial.limitsAndCosts === limitsAndCosts;
}

/** The numbers and costs of a counter's limits as one text, in the order of the limits. */
function limitsAndCostsOf({ encodedParameters, costs }: Counter): string {
  return costs === undefined ? encodedParameters : `${encodedParameters};${costs}`;
}

/** The reports of a decision, by the keys of their counters. */
function reportsByCounter({ now, counters }: StoreDecision): [string, CounterReport][] {
  return counters.map(({ counter, blockedFor, limits }) => {
    const isOfSlots = (counter as SubjectCounter).group.slotTtl !== undefined;
    const limitsAndCosts = limitsAndCostsOf(counter);
    return [counter.key, { now, blockedFor, limits, limitsAndCosts, isOfSlots }];
  });
}

function longestWait({ limits }: CounterReport): number {
  let longest = 0;
  for (const { wait } of limits)
    longest = Math.max(longest, wait === NEVER ? MAX_DENIAL_TTL : wait);
  return longest;
}

/**
 * The decision on a limit some microseconds after it arrived, if no request was admitted since. Time counts from the arrival, so
 * that no wait is reported too short.
 */
function ageLimit(
  { wait, remaining, resetAfter, refillAfter }: LimitDecision,
  elapsed: number,
): LimitDecision {
  // A single limit's wait may be over, but not the longest one, or the denial would have expired. Times of 0 are kept for unused
  // limits.
  return {
    wait: timeLeft(wait, elapsed, 0),
    remaining,
    resetAfter: timeLeft(resetAfter, elapsed, 1),
    refillAfter: timeLeft(refillAfter, elapsed, 1),
  };
}

/** Subtracts elapsed time. The longest time that can be reported also stands for longer ones, so it is never shortened. */
function timeLeft(time: number, elapsed: number, least: number): number {
  if (time >= MAX_MICROS) return time;
  return time > 0 ? Math.max(least, time - elapsed) : time;
}
