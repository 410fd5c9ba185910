import type { MemoryBudget } from "../log/memory-budget.ts";
import { DeniedRequests } from "./denied-requests.ts";
import type { Waits } from "./result.ts";

/** The denials of one client. */
export interface ClientDenials {
  /** The number of the client. */
  readonly client: number;
  denied: number;
  readonly firstAt: number;
  lastAt: number;
  longestWaitMs: number;
}

/** The bytes of a denied client, at the moment when the map grows. */
const BYTES_PER_CLIENT = 200;

/** Counts the decisions of a policy. */
export class Tally {
  readonly waits: WaitCounts = new WaitCounts();
  readonly deniedRequests: DeniedRequests = new DeniedRequests();
  readonly #clients = new Map<number, ClientDenials>();
  readonly #room: MemoryBudget;
  allowed = 0;
  denied = 0;

  constructor(room: MemoryBudget) {
    this.#room = room;
  }

  get clientsDenied(): number {
    return this.#clients.size;
  }

  /** Counts a denial; `time` and `wait` are in milliseconds. Throws `HEADGATE_LOG_TOO_LARGE` if there are too many clients. */
  deny(client: number, time: number, wait: number): void {
    this.denied += 1;
    this.waits.add(wait);
    const known = this.#clients.get(client);
    if (known === undefined) {
      this.#room.reserve(BYTES_PER_CLIENT);
      this.#clients.set(client, {
        client,
        denied: 1,
        firstAt: time,
        lastAt: time,
        longestWaitMs: wait,
      });
      return;
    }
    known.denied += 1;
    known.lastAt = time;
    if (wait > known.longestWaitMs) known.longestWaitMs = wait;
  }

  /** The most often denied clients; equals are sorted by name. */
  mostDenied(count: number, nameOf: (client: number) => string): ClientDenials[] {
    return [...this.#clients.values()]
      .sort((a, b) => b.denied - a.denied || (nameOf(a.client) < nameOf(b.client) ? -1 : 1))
      .slice(0, count);
  }
}

/** The most distinct waits that are counted exactly. Beyond that, waits are rounded to a thousandth. */
const MAX_DISTINCT = 100_000;

/** Counts waits in milliseconds. */
export class WaitCounts {
  readonly #maxDistinct: number;
  #counts = new Map<number, number>();
  #total = 0;
  #max = 0;
  #isRounded = false;

  constructor(maxDifferent: number = MAX_DISTINCT) {
    this.#maxDistinct = maxDifferent;
  }

  add(ms: number): void {
    this.#total += 1;
    if (ms > this.#max) this.#max = ms;
    this.#count(ms, 1);
    if (this.#counts.size > this.#maxDistinct && !this.#isRounded) this.#round();
  }

  /** The percentiles of all waits; null if there are none. */
  percentiles(): Waits | null {
    if (this.#total === 0) return null;
    const inOrder = [...this.#counts].sort(([one], [other]) => one - other);
    const percentile = (share: number): number => {
      let left = Math.ceil(share * this.#total);
      for (const [ms, count] of inOrder) {
        left -= count;
        if (left <= 0) return Math.min(ms, this.#max);
      }
      return this.#max;
    };
    return { p50: percentile(0.5), p90: percentile(0.9), p99: percentile(0.99), max: this.#max };
  }

  #count(ms: number, count: number): void {
    const wait = this.#isRounded ? roundUp(ms) : ms;
    this.#counts.set(wait, (this.#counts.get(wait) ?? 0) + count);
  }

  #round(): void {
    const exact = this.#counts;
    this.#isRounded = true;
    this.#counts = new Map();
    for (const [ms, count] of exact) this.#count(ms, count);
  }
}

/** Rounds up to four digits, which is less than a thousandth. */
function roundUp(ms: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(ms, 1))) - 3);
  return Math.ceil(ms / unit) * unit;
}
