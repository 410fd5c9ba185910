import { LRUCache } from "lru-cache";
import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { LONGEST, NEVER } from "../algorithms/exact.ts";
import { clientPart } from "../base/client-state.ts";
import type { LimitState } from "../base/decision.ts";
import type { SubjectCounter } from "../counting/counters.ts";
import { unitsOnly } from "../counting/counters.ts";
import { COUNTER_HEAD, LIMIT_NUMBERS, present, REPLY_HEAD, readState } from "./ask.ts";
import type { Answer, CountersReply } from "./link.ts";

/** A denial is used for at most this many microseconds, because units may be given back elsewhere. */
const BELIEVED = 1_000_000;

/** The most subjects remembered; the least recently asked is dropped first. */
const MAX_COUNTERS = 10_000;

/** The most denials of one subject: one for each cost under each set of numbers that its limits had. */
const MAX_DENIALS = 8;

/** What is known of a decision without asking for it: that it is denied. */
export type KnownDenial = Omit<Answer, "lasting">;

const NONE: readonly never[] = [];

/** What the store said about a counter: when, four numbers for each limit as in the reply, and for what call. */
interface Reported {
  readonly now: number;
  readonly reply: readonly number[];
  readonly isBlocked: boolean;
  readonly terms: string;
}

/** What the store said when it denied one cost to one counter. Times are of the store's `store.now()`. */
interface Denial {
  readonly cost: number;
  /** The key of the counter that denied. */
  readonly of: string;
  /** The numbers of its limits, and what each was asked for where the cost was by name: under others it may allow. */
  readonly terms: string;
  /** When the call was sent: the server decided later, so a wait that is counted from here ends too early, never too late. */
  readonly sent: number;
  /** When its answer had come. */
  readonly received: number;
  readonly until: number;
  /** What the store said about every counter of the decision, by its key. */
  readonly reported: ReadonlyMap<string, Reported>;
}

interface KnownCounter {
  /** Denials that were asked for before this moment are ignored: something was given back then. */
  readonly since: number;
  /** The oldest first. */
  readonly denials: Denial[];
}

/**
 * Remembers which costs a subject was denied, and for how long, so that a subject that keeps asking costs no call. It answers
 * only the same cost: a larger one would get too short a wait.
 */
export class DenyCache {
  readonly #known = new LRUCache<string, KnownCounter>({ max: MAX_COUNTERS });
  /** False as long as nothing is known, so that a decision need not look. */
  mayKnow = false;
  /** Denials of any counter that were asked for before this moment are ignored. */
  #since = Number.NEGATIVE_INFINITY;

  /**
   * What is known of the limits, when a counter is known to deny; undefined when none is. Counters that were not part of the
   * decision which was denied then are not known.
   */
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

  /** Remembers a denial by the counters that denied, but not by places, which come free at any time. The replies are all to one decision. */
  remember(replies: readonly CountersReply[], cost: number, sent: number, received: number): void {
    const reported = new Map(replies.flatMap(reportedByCounter));
    for (const { key } of unitsOnly(replies.flatMap(({ counters }) => counters))) {
      const said = reported.get(key) as Reported;
      const wait = longestWait(said);
      const until = sent + Math.min(wait, BELIEVED);
      const { terms } = said;
      if (wait > 0) this.#keep({ cost, of: key, terms, sent, received, until, reported });
      else this.#heed(key);
    }
  }

  /** What the store said about a counter that would have allowed is used, too, until it is charged, which is noted for known ones. */
  #heed(key: string): void {
    const known = this.#known.get(key) ?? { since: this.#since, denials: [] };
    this.#set(key, known);
  }

  /** What is known of a counter: its own denial, or what one of those beside it says. */
  #denialFor(counter: SubjectCounter, known: readonly Denial[]): Denial | undefined {
    for (const denial of known) if (denial.of === counter.key) return denial;
    return known.find((beside) => this.#wouldAllow(counter, beside));
  }

  /** A denial that holds now. */
  #denial(counter: SubjectCounter, cost: number, now: number): Denial | undefined {
    const denials = this.#known.get(counter.key)?.denials ?? NONE;
    for (const denial of denials) {
      if (!isOf(denial, cost, termsOf(counter))) continue;
      // A clock of the application's own may step back.
      return now < denial.until && now >= denial.sent ? denial : undefined;
    }
    return undefined;
  }

  /** Forgets what is known of counters to which something is given back at this moment. */
  forget(counters: readonly { readonly key: string }[], now: number): void {
    for (const { key } of counters) this.#set(key, { since: now, denials: [] });
  }

  /** Forgets what is known of all counters at this moment. */
  forgetAll(now: number): void {
    this.#known.clear();
    this.mayKnow = false;
    this.#since = now;
  }

  /** Forgets what is known of counters that were charged another cost at this moment: they may have to wait for longer now. */
  forgetKnown(counters: readonly { readonly key: string }[], now: number): void {
    for (const { key } of counters) {
      if (this.#known.has(key)) this.#set(key, { since: now, denials: [] });
    }
  }

  /** Whether a decision that another counter denied said that this one would have allowed, and nothing happened to it since. */
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

/** The cache of a store's client: limiters that count the same remember the same. */
export const denyCacheOf: (owner: object) => DenyCache = clientPart(
  "denials",
  () => new DenyCache(),
);

function isOf(denial: Denial, cost: number, terms: string): boolean {
  return denial.cost === cost && denial.terms === terms;
}

/** What a counter was asked under: in the order of its limits, so that the order of the names in a cost does not matter. */
function termsOf({ numbers, costs }: SubjectCounter): string {
  return costs === undefined ? numbers : `${numbers};${costs}`;
}

/** The part of a reply that is of each counter. */
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
 * A limit as it is some microseconds after it was reported, if nobody was admitted. They count from when the answer had come, so
 * that no wait is reported too short.
 */
function stateAfter(
  limit: CompiledLimit,
  { now, reply }: Reported,
  i: number,
  elapsed: number,
): LimitState {
  const from = i * LIMIT_NUMBERS;
  // Only what is unused has no time left; the longest wait is not over yet, or the denial would not be believed.
  return readState(
    limit,
    now,
    left(reply[from] as number, elapsed, 0),
    reply[from + 1] as number,
    left(reply[from + 2] as number, elapsed, 1),
    left(reply[from + 3] as number, elapsed, 1),
  );
}

/** What is left of a time. The longest that can be told stands for longer ones, too: it is not known how long it takes to become shorter. */
function left(time: number, elapsed: number, least: number): number {
  if (time >= LONGEST) return time;
  return time > 0 ? Math.max(least, time - elapsed) : time;
}
