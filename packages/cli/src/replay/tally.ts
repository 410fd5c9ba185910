import type { MemoryBudget } from "../log/memory-budget.ts";
import { WaitCounts } from "./waits.ts";

/** What a policy did to one client. */
export interface ClientDenials {
  /** The number of the client. */
  readonly client: number;
  denied: number;
  readonly firstAt: number;
  lastAt: number;
  longestWaitMs: number;
}

/** Bytes of a denied client, at the moment at which its map grows. */
const BYTES_PER_CLIENT = 200;

/** Counts what a policy did. */
export class Tally {
  readonly waits: WaitCounts = new WaitCounts();
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

  /** Counts a denial: `time` and `wait` in milliseconds. Throws a `CommandError` where there are too many clients. */
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

  /** Those denied most often first, equals in the order of their names. */
  mostDenied(count: number, nameOf: (client: number) => string): ClientDenials[] {
    return [...this.#clients.values()]
      .sort((a, b) => b.denied - a.denied || (nameOf(a.client) < nameOf(b.client) ? -1 : 1))
      .slice(0, count);
  }
}
