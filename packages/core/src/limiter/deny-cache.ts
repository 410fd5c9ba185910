import { LRUCache } from "lru-cache";
import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { NEVER } from "../algorithms/exact.ts";
import type { LimitState } from "../decision.ts";
import type { GroupUnit } from "./counters.ts";
import { LIMIT_NUMBERS, present, REPLY_HEAD, readState, UNIT_HEAD } from "./read-reply.ts";
import { sharedBy } from "./shared.ts";

/** A denial is believed for at most so many microseconds, because units may be given back elsewhere. */
const LONGEST = 1_000_000;

/** So many subjects are kept, the least recently asked given up first. */
const MAX_UNITS = 10_000;

/** So many costs of one subject. */
const MAX_COSTS = 8;

/** What the store said when it denied one cost to one unit. Times are of the store's `remote.now()`. */
interface Denial {
  /** When the asking call was sent: the server decided later, so a wait that is counted from here ends too early, never too late. */
  readonly sent: number;
  /** When its answer had come. */
  readonly received: number;
  readonly until: number;
  /** Four numbers for each limit of the unit, as decide.lua returns them. */
  readonly numbers: readonly number[];
}

interface KnownUnit {
  /** Denials that were asked for before this moment are not believed: something was given back then. */
  readonly since: number;
  readonly denials: Map<number, Denial>;
}

/**
 * Remembers who was denied what, and for how long that will stay so, so that those who keep asking cost no call. It answers
 * the same cost only: a larger one would be told too short a wait.
 */
export class DenyCache {
  readonly #units = new LRUCache<string, KnownUnit>({ max: MAX_UNITS });

  /** The limits of the units that are known to deny; undefined when none is. Those of other units are not known. */
  find(units: readonly GroupUnit[], cost: number, now: number): LimitState[] | undefined {
    let found: LimitState[] | undefined;
    for (const unit of units) {
      const denial = this.#units.get(unit.key)?.denials.get(cost);
      // A clock of the application's own may step back.
      if (denial === undefined || now >= denial.until || now < denial.sent) continue;
      found ??= [];
      for (let i = 0; i < unit.limits.length; i += 1) {
        const place = unit.group.positions[i] as number;
        found[place] = stateAfter(unit.limits[i] as CompiledLimit, denial, i, now);
      }
    }
    // In the order of the policy, without holes.
    return found && present(found);
  }

  /** Remembers a denial by the units that denied. `reply` is of decide.lua. */
  remember(
    units: readonly GroupUnit[],
    cost: number,
    sent: number,
    received: number,
    reply: readonly number[],
  ): void {
    let at = REPLY_HEAD;
    for (const unit of units) {
      const from = at + UNIT_HEAD;
      at = from + unit.limits.length * LIMIT_NUMBERS;
      const numbers = reply.slice(from, at);
      const wait = longestWait(numbers);
      if (wait > 0) {
        const until = sent + Math.min(wait, LONGEST);
        this.#keep(unit.key, cost, { sent, received, until, numbers });
      }
    }
  }

  /** Forgets what is known of units to which something is given back at this moment. */
  forget(units: readonly { readonly key: string }[], now: number): void {
    for (const { key } of units) this.#units.set(key, { since: now, denials: new Map() });
  }

  /** Forgets what is known of units that were charged another cost at this moment: they may have to wait for longer now. */
  forgetKnown(units: readonly { readonly key: string }[], now: number): void {
    for (const { key } of units) {
      if (this.#units.has(key)) this.#units.set(key, { since: now, denials: new Map() });
    }
  }

  #keep(key: string, cost: number, denial: Denial): void {
    const known = this.#units.get(key) ?? { since: Number.NEGATIVE_INFINITY, denials: new Map() };
    if (denial.sent <= known.since) return;
    known.denials.delete(cost);
    const [oldest] = known.denials.keys();
    if (known.denials.size >= MAX_COSTS && oldest !== undefined) known.denials.delete(oldest);
    known.denials.set(cost, denial);
    this.#units.set(key, known);
  }
}

/** The cache of a store's client: limiters that count the same remember the same. */
export function denyCacheOf(owner: object): DenyCache {
  return sharedBy(owner, "deny-cache", () => new DenyCache());
}

function longestWait(numbers: readonly number[]): number {
  let longest = 0;
  for (let at = 0; at < numbers.length; at += LIMIT_NUMBERS) {
    const wait = numbers[at] as number;
    longest = Math.max(longest, wait === NEVER ? LONGEST : wait);
  }
  return longest;
}

/** A limit as it is some time after it denied. Times count from when the answer had come, so no wait is told too short. */
function stateAfter(limit: CompiledLimit, denial: Denial, i: number, now: number): LimitState {
  const elapsed = Math.max(0, Math.floor(now - denial.received));
  const [wait = 0, remaining = 0, reset = 0, growth = 0] = denial.numbers.slice(
    i * LIMIT_NUMBERS,
    (i + 1) * LIMIT_NUMBERS,
  );
  // Only what is unused has no time left; the longest wait is not over yet, or the denial would not be believed.
  const left = (time: number, least: number): number =>
    time > 0 ? Math.max(least, time - elapsed) : time;
  return readState(limit, [left(wait, 0), remaining, left(reset, 1), left(growth, 1)], 0);
}
