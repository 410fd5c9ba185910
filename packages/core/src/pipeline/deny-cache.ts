import { LRUCache } from "lru-cache";
import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { LONGEST, NEVER } from "../algorithms/exact.ts";
import { clientPart } from "../common/client-state.ts";
import type { LimitState } from "../common/decision.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { unitsOnly } from "../policy/counters.ts";
import { COUNTER_HEAD, LIMIT_NUMBERS, present, REPLY_HEAD, readState } from "./decode-reply.ts";
import type { CountersReply, StoreDecision } from "./stage.ts";

/** A denial is used for at most this many microseconds, because another process may refund units. */
const BELIEVED = 1_000_000;

/** The most subjects in the cache; the least recently asked is evicted first. */
const MAX_COUNTERS = 10_000;

/** The most denials for one subject: one for each cost, under each set of numbers that its limits had. */
const MAX_DENIALS = 8;

/** A denial known without asking the store. */
export type KnownDenial = Omit<StoreDecision, "cacheableReplies">;

const NONE: readonly never[] = [];

/** The store's report on a counter: when it was made, four numbers for each limit as in the reply, and for which call. */
interface Reported {
  readonly now: number;
  readonly reply: readonly number[];
  readonly isBlocked: boolean;
  readonly terms: string;
}

/** The store's reply when it denied one cost to one counter. Times are by `store.now()`. */
interface Denial {
  readonly cost: number;
  /** The key of the counter that denied. */
  readonly of: string;
  /** The limits' numbers and, with a cost by name, the cost for each limit: under other terms it may be allowed. */
  readonly terms: string;
  /** When the call was sent. The server decided later, so a wait counted from here ends too early, never too late. */
  readonly sent: number;
  /** When the answer arrived. */
  readonly received: number;
  readonly until: number;
  /** The store's report on every counter of the decision, by key. */
  readonly reported: ReadonlyMap<string, Reported>;
}

interface KnownCounter {
  /** Denials requested before this moment are ignored, because units were refunded then. */
  readonly since: number;
  /** Oldest first. */
  readonly denials: Denial[];
}

/**
 * Caches which costs a subject was denied, and for how long, so that a subject that keeps asking costs no call. A cached denial
 * is used only for the same cost: a larger one would get too short a wait.
 */
export class DenyCache {
  readonly #known = new LRUCache<string, KnownCounter>({ max: MAX_COUNTERS });
  /** False while the cache is empty, so that a decision can skip the lookup. */
  mayKnow = false;
  /** Denials of any counter requested before this moment are ignored. */
  #since = Number.NEGATIVE_INFINITY;

  /** The state of the limits if a counter is known to deny; undefined otherwise. Leaves out counters not in that decision. */
  find(counters: readonly SubjectCounter[], cost: number, now: number): KnownDenial | undefined {
    let known: Denial[] | undefined;
    for (const counter of counters) {
      const denial = this.#denial(counter, cost, now);
      if (denial === undefined) continue;
      known ??= [];
      known.push(denial);
    }
    if (known === undefined) return undefined;
    const states: LimitState[] = [];
    for (const counter of counters) {
      const denial = this.#denialFor(counter, known);
      const said = denial?.reported.get(counter.key);
      if (denial === undefined || said === undefined) continue;
      const elapsed = Math.max(0, Math.floor(now - denial.received));
      for (let i = 0; i < counter.limits.length; i += 1) {
        if (counter.costs?.[i] === 0) continue;
        const limit = counter.limits[i] as CompiledLimit;
        states[counter.group.positions[i] as number] = stateAfter(limit, said, i, elapsed);
      }
    }
    const blocked = known.some(({ of, reported }) => reported.get(of)?.isBlocked);
    return { allowed: false, blocked, limits: present(states), receipts: NONE };
  }

  /** Caches one decision's denial by the counters that denied it, except slots, which come free at any time. */
  remember(replies: readonly CountersReply[], cost: number, sent: number, received: number): void {
    const reported = new Map(replies.flatMap(reportedByCounter));
    for (const { key } of unitsOnly(replies.flatMap(({ counters }) => counters))) {
      const said = reported.get(key) as Reported;
      const wait = longestWait(said);
      const until = sent + Math.min(wait, BELIEVED);
      const { terms } = said;
      if (wait > 0) this.#keep({ cost, of: key, terms, sent, received, until, reported });
      else this.#touch(key);
    }
  }

  /**
   * The report on a counter that would have allowed is also used, until that counter is charged. Registers the counter, so that
   * `forgetKnown` notes the charge.
   */
  #touch(key: string): void {
    const known = this.#known.get(key) ?? { since: this.#since, denials: [] };
    this.#set(key, known);
  }

  /** A cached denial that covers a counter: its own, or that of another counter in the same decision. */
  #denialFor(counter: SubjectCounter, known: readonly Denial[]): Denial | undefined {
    for (const denial of known) if (denial.of === counter.key) return denial;
    return known.find((beside) => this.#wouldAllow(counter, beside));
  }

  /** A denial that is still valid. */
  #denial(counter: SubjectCounter, cost: number, now: number): Denial | undefined {
    const denials = this.#known.get(counter.key)?.denials ?? NONE;
    for (const denial of denials) {
      if (!isOf(denial, cost, termsOf(counter))) continue;
      // A clock supplied by the application may step back.
      return now < denial.until && now >= denial.sent ? denial : undefined;
    }
    return undefined;
  }

  /** Forgets denials of counters that are being refunded. */
  forget(counters: readonly { readonly key: string }[], now: number): void {
    for (const { key } of counters) this.#set(key, { since: now, denials: [] });
  }

  /** Forgets everything cached until now. */
  forgetAll(now: number): void {
    this.#known.clear();
    this.mayKnow = false;
    this.#since = now;
  }

  /** Forgets denials of counters that were charged another cost: the wait may be longer now. */
  forgetKnown(counters: readonly { readonly key: string }[], now: number): void {
    for (const { key } of counters) {
      if (this.#known.has(key)) this.#set(key, { since: now, denials: [] });
    }
  }

  /** Whether another counter's denial reports that this counter would have allowed, with no change since. */
  #wouldAllow(counter: SubjectCounter, { reported, sent }: Denial): boolean {
    const said = reported.get(counter.key);
    const since = this.#known.get(counter.key)?.since ?? this.#since;
    return said?.terms === termsOf(counter) && longestWait(said) === 0 && since < sent;
  }

  #set(key: string, known: KnownCounter): void {
    this.mayKnow = true;
    this.#known.set(key, known);
  }

  #keep(denial: Denial): void {
    const { of: key, cost, terms } = denial;
    const known = this.#known.get(key) ?? { since: this.#since, denials: [] };
    if (denial.sent <= known.since) return;
    const before = known.denials.findIndex((one) => isOf(one, cost, terms));
    if (before >= 0) known.denials.splice(before, 1);
    else if (known.denials.length >= MAX_DENIALS) known.denials.shift();
    known.denials.push(denial);
    this.#set(key, known);
  }
}

/** The cache of a store's client, shared by limiters that count the same. */
export const denyCacheOf: (owner: object) => DenyCache = clientPart(
  "denials",
  () => new DenyCache(),
);

function isOf(denial: Denial, cost: number, terms: string): boolean {
  return denial.cost === cost && denial.terms === terms;
}

/** The terms of a counter, in the order of its limits, whatever the order of names in a cost. */
function termsOf({ numbers, costs }: SubjectCounter): string {
  return costs === undefined ? numbers : `${numbers};${costs}`;
}

/** Splits a reply by counter. */
function reportedByCounter({ counters, reply }: CountersReply): [string, Reported][] {
  let at = REPLY_HEAD;
  return counters.map((counter) => {
    const from = at + COUNTER_HEAD;
    const isBlocked = (reply[at + 1] as number) > 0;
    at = from + counter.limits.length * LIMIT_NUMBERS;
    const terms = termsOf(counter);
    const now = reply[0] as number;
    return [counter.key, { now, reply: reply.slice(from, at), isBlocked, terms }];
  });
}

function longestWait({ reply }: Reported): number {
  let longest = 0;
  for (let at = 0; at < reply.length; at += LIMIT_NUMBERS) {
    const wait = reply[at] as number;
    longest = Math.max(longest, wait === NEVER ? BELIEVED : wait);
  }
  return longest;
}

/**
 * A limit's state some microseconds after the report, if no request was admitted. Counts from when the answer arrived, so that
 * no wait is reported too short.
 */
function stateAfter(
  limit: CompiledLimit,
  { now, reply }: Reported,
  i: number,
  elapsed: number,
): LimitState {
  const from = i * LIMIT_NUMBERS;
  // Only an unused limit has no time left; and the longest wait is not over, or the denial would have expired.
  return readState(
    limit,
    now,
    left(reply[from] as number, elapsed, 0),
    reply[from + 1] as number,
    left(reply[from + 2] as number, elapsed, 1),
    left(reply[from + 3] as number, elapsed, 1),
  );
}

/** Subtracts elapsed time. The longest reportable time also stands for longer ones, so it is never shortened. */
function left(time: number, elapsed: number, least: number): number {
  if (time >= LONGEST) return time;
  return time > 0 ? Math.max(least, time - elapsed) : time;
}
