import type { Room } from "../log/room.ts";
import { WaitCounts } from "./waits.ts";

/** What a policy did to one client. */
export interface Denials {
  /** The number of the client. */
  readonly client: number;
  denied: number;
  readonly first: number;
  last: number;
  longestWait: number;
}

/** Bytes of a denied client, at the moment at which its map grows. */
const BYTES_PER_CLIENT = 200;

/** Counts what a policy did. */
export class Tally {
  readonly waits: WaitCounts = new WaitCounts();
  readonly #clients = new Map<number, Denials>();
  readonly #room: Room;
  allowed = 0;
  denied = 0;

  constructor(room: Room) {
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
      this.#room.take(BYTES_PER_CLIENT);
      this.#clients.set(client, { client, denied: 1, first: time, last: time, longestWait: wait });
      return;
    }
    known.denied += 1;
    known.last = time;
    if (wait > known.longestWait) known.longestWait = wait;
  }

  /** Those denied most often first, equals in the order of their names. */
  mostDenied(count: number, nameOf: (client: number) => string): Denials[] {
    return [...this.#clients.values()]
      .sort((a, b) => b.denied - a.denied || (nameOf(a.client) < nameOf(b.client) ? -1 : 1))
      .slice(0, count);
  }
}
