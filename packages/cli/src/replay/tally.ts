import type { MemoryBudget } from "../log/memory-budget.ts";
import { WaitCounts } from "./waits.ts";

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

  /** Counts a denial; `time` and `wait` are in milliseconds. Throws a `CommandError` if there are too many clients. */
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
