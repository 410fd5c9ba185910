import { LRUCache } from "lru-cache";
import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { MAX_MICROS, NEVER } from "../algorithms/exact-arithmetic.ts";
import { shareByClient } from "../common/client-state.ts";
import type { LimitState } from "../common/decision.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { unitCountersOf } from "../policy/counters.ts";
import {
  COUNTER_HEADER,
  decodeLimitState,
  NUMBERS_PER_LIMIT,
  REPLY_HEADER,
  removeHoles,
} from "./decode-reply.ts";
import type { CountersReply, StoreDecision } from "./stage.ts";

/** A denial is used for at most this many microseconds, because another process may refund units. */
const MAX_DENIAL_TTL = 1_000_000;

/** The most subjects in the cache; the least recently asked is evicted first. */
const MAX_COUNTERS = 10_000;

/** The most denials for one subject: one for each cost, under each set of numbers that its limits had. */
const MAX_DENIALS_PER_COUNTER = 8;

/** A denial known without asking the store. */
export type CachedDenial = Omit<StoreDecision, "cacheableReplies">;

const NONE: readonly never[] = [];

/** The store's report on a counter: when it was made, four numbers for each limit as in the reply, and for which call. */
interface CounterReport {
  readonly now: number;
  readonly reply: readonly number[];
  readonly isBlocked: boolean;
  readonly limitsAndCosts: string;
}

/** The store's reply when it denied one cost to one counter. Times are by `store.now()`. */
interface DenialEntry {
  readonly cost: number;
  /** The key of the counter that denied. */
  readonly counterKey: string;
  /** The limits' numbers and, with a cost by name, the cost for each limit: under other terms it may be allowed. */
  readonly limitsAndCosts: string;
  /** When the call was sent. The server decided later, so a wait counted from here ends too early, never too late. */
  readonly sentAt: number;
  /** When the answer arrived. */
  readonly receivedAt: number;
  readonly expiresAt: number;
  /** The store's report on every counter of the decision, by key. */
  readonly reports: ReadonlyMap<string, CounterReport>;
}

interface CachedCounter {
  /** Denials requested before this moment are ignored, because units were refunded then. */
  readonly ignoreBefore: number;
  /** Oldest first. */
  readonly denials: DenialEntry[];
}

/**
 * Caches which costs a subject was denied, and for how long, so that a subject that keeps asking costs no call. A cached denial
 * is used only for the same cost: a larger one would get too short a wait.
 */
export class DenyCache {
  readonly #counters = new LRUCache<string, CachedCounter>({ max: MAX_COUNTERS });
  /** False while the cache is empty, so that a decision can skip the lookup. */
  mayHit = false;
  /** Denials of any counter requested before this moment are ignored. */
  #ignoreBefore = Number.NEGATIVE_INFINITY;

  /** The state of the limits if a counter is known to deny; undefined otherwise. Leaves out counters not in that decision. */
  find(counters: readonly SubjectCounter[], cost: number, now: number): CachedDenial | undefined {
    let known: DenialEntry[] | undefined;
    for (const counter of counters) {
      const denial = this.#validDenial(counter, cost, now);
      if (denial === undefined) continue;
      known ??= [];
      known.push(denial);
    }
    if (known === undefined) return undefined;
    const states: LimitState[] = [];
    for (const counter of counters) {
      const denial = this.#coveringDenial(counter, known);
      const report = denial?.reports.get(counter.key);
      if (denial === undefined || report === undefined) continue;
      const elapsed = Math.max(0, Math.floor(now - denial.receivedAt));
      for (let i = 0; i < counter.limits.length; i += 1) {
        if (counter.costs?.[i] === 0) continue;
        const limit = counter.limits[i] as CompiledLimit;
        states[counter.group.positions[i] as number] = ageState(limit, report, i, elapsed);
      }
    }
    const blocked = known.some(({ counterKey, reports }) => reports.get(counterKey)?.isBlocked);
    return { allowed: false, blocked, limits: removeHoles(states), receipts: NONE };
  }

  /** Caches one decision's denial by the counters that denied it, except slots, which come free at any time. */
  add(replies: readonly CountersReply[], cost: number, sentAt: number, receivedAt: number): void {
    const reports = new Map(replies.flatMap(reportsByCounter));
    for (const { key } of unitCountersOf(replies.flatMap(({ counters }) => counters))) {
      const report = reports.get(key) as CounterReport;
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
   * The report on a counter that would have allowed is also used, until that counter is charged. Registers the counter, so that
   * `invalidateCached` notes the charge.
   */
  #register(key: string): void {
    const known = this.#counters.get(key) ?? { ignoreBefore: this.#ignoreBefore, denials: [] };
    this.#set(key, known);
  }

  /** A cached denial that covers a counter: its own, or that of another counter in the same decision. */
  #coveringDenial(counter: SubjectCounter, known: readonly DenialEntry[]): DenialEntry | undefined {
    for (const denial of known) if (denial.counterKey === counter.key) return denial;
    return known.find((beside) => this.#wouldAllow(counter, beside));
  }

  /** A denial that is still valid. */
  #validDenial(counter: SubjectCounter, cost: number, now: number): DenialEntry | undefined {
    const denials = this.#counters.get(counter.key)?.denials ?? NONE;
    for (const denial of denials) {
      if (!matches(denial, cost, limitsAndCostsOf(counter))) continue;
      // A clock supplied by the application may step back.
      return now < denial.expiresAt && now >= denial.sentAt ? denial : undefined;
    }
    return undefined;
  }

  /** Forgets denials of counters that are being refunded. */
  invalidate(counters: readonly { readonly key: string }[], now: number): void {
    for (const { key } of counters) this.#set(key, { ignoreBefore: now, denials: [] });
  }

  /** Forgets everything cached until now. */
  invalidateAll(now: number): void {
    this.#counters.clear();
    this.mayHit = false;
    this.#ignoreBefore = now;
  }

  /** Forgets denials of counters that were charged another cost: the wait may be longer now. */
  invalidateCached(counters: readonly { readonly key: string }[], now: number): void {
    for (const { key } of counters) {
      if (this.#counters.has(key)) this.#set(key, { ignoreBefore: now, denials: [] });
    }
  }

  /** Whether another counter's denial reports that this counter would have allowed, with no change since. */
  #wouldAllow(counter: SubjectCounter, { reports, sentAt }: DenialEntry): boolean {
    const report = reports.get(counter.key);
    const since = this.#counters.get(counter.key)?.ignoreBefore ?? this.#ignoreBefore;
    return (
      report?.limitsAndCosts === limitsAndCostsOf(counter) &&
      longestWait(report) === 0 &&
      since < sentAt
    );
  }

  #set(key: string, known: CachedCounter): void {
    this.mayHit = true;
    this.#counters.set(key, known);
  }

  #addEntry(denial: DenialEntry): void {
    const { counterKey: key, cost, limitsAndCosts } = denial;
    const known = this.#counters.get(key) ?? { ignoreBefore: this.#ignoreBefore, denials: [] };
    if (denial.sentAt <= known.ignoreBefore) return;
    const before = known.denials.findIndex((one) => matches(one, cost, limitsAndCosts));
    if (before >= 0) known.denials.splice(before, 1);
    else if (known.denials.length >= MAX_DENIALS_PER_COUNTER) known.denials.shift();
    known.denials.push(denial);
    this.#set(key, known);
  }
}

/** The cache of a store's client, shared by limiters that count the same. */
export const denyCacheOf: (owner: object) => DenyCache = shareByClient(
  "denials",
  () => new DenyCache(),
);

function matches(denial: DenialEntry, cost: number, terms: string): boolean {
  return denial.cost === cost && denial.limitsAndCosts === terms;
}

/** The terms of a counter, in the order of its limits, whatever the order of names in a cost. */
function limitsAndCostsOf({ encodedParameters, costs }: SubjectCounter): string {
  return costs === undefined ? encodedParameters : `${encodedParameters};${costs}`;
}

/** Splits a reply by counter. */
function reportsByCounter({ counters, reply }: CountersReply): [string, CounterReport][] {
  let at = REPLY_HEADER;
  return counters.map((counter) => {
    const from = at + COUNTER_HEADER;
    const isBlocked = (reply[at + 1] as number) > 0;
    at = from + counter.limits.length * NUMBERS_PER_LIMIT;
    const limitsAndCosts = limitsAndCostsOf(counter);
    const now = reply[0] as number;
    return [counter.key, { now, reply: reply.slice(from, at), isBlocked, limitsAndCosts }];
  });
}

function longestWait({ reply }: CounterReport): number {
  let longest = 0;
  for (let at = 0; at < reply.length; at += NUMBERS_PER_LIMIT) {
    const wait = reply[at] as number;
    longest = Math.max(longest, wait === NEVER ? MAX_DENIAL_TTL : wait);
  }
  return longest;
}

/**
 * A limit's state some microseconds after the report, if no request was admitted. Counts from when the answer arrived, so that
 * no wait is reported too short.
 */
function ageState(
  limit: CompiledLimit,
  { now, reply }: CounterReport,
  i: number,
  elapsed: number,
): LimitState {
  const from = i * NUMBERS_PER_LIMIT;
  // Only an unused limit has no time left; and the longest wait is not over, or the denial would have expired.
  return decodeLimitState(
    limit,
    now,
    timeLeft(reply[from] as number, elapsed, 0),
    reply[from + 1] as number,
    timeLeft(reply[from + 2] as number, elapsed, 1),
    timeLeft(reply[from + 3] as number, elapsed, 1),
  );
}

/** Subtracts elapsed time. The longest reportable time also stands for longer ones, so it is never shortened. */
function timeLeft(time: number, elapsed: number, least: number): number {
  if (time >= MAX_MICROS) return time;
  return time > 0 ? Math.max(least, time - elapsed) : time;
}
