/**
 * How important a request is: a `critical` one is handled first and never shed, a `sheddable` one is handled last and shed at
 * 0.4 of the wait at which a `default` one is.
 */
export type Priority = "critical" | "default" | "sheddable";

/** In the order in which they are handled. */
export const PRIORITIES: readonly Priority[] = ["critical", "default", "sheddable"];

/** A request that can wait in line. */
export interface DeferredRequest {
  /** The request of the framework. */
  readonly request: object;
  readonly priority: Priority;
  /** Whose request it is; undefined if subjects are not distinguished. */
  readonly subject: string | undefined;
  /** When it arrived, as far as known. */
  readonly arrivedAt: number;
  /** Whether it needs no response any more. */
  isGone(): boolean;
  /** Handles it. */
  start(): void;
  /** Responds that the server is overloaded. */
  reject(): void;
  /** Ends it without a response, because it needs none. */
  drop(): void;
}

/** First in, first out, in constant time on average. */
class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get first(): Item | undefined {
    return this.#items[this.#head];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.first;
    if (item === undefined) return undefined;
    this.#items[this.#head] = undefined;
    this.#head += 1;
    // Moves the rest only when it is the smaller part, so each item is moved once on average.
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

/** The requests that wait: in order of arrival within each priority. */
export class Line {
  readonly #queues: Readonly<Record<Priority, Fifo<DeferredRequest>>> = {
    critical: new Fifo(),
    default: new Fifo(),
    sheddable: new Fifo(),
  };
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(request: DeferredRequest): void {
    this.#queues[request.priority].push(request);
    this.#size += 1;
  }

  /** The request of a priority that has waited longest. */
  first(priority: Priority): DeferredRequest | undefined {
    return this.#queues[priority].first;
  }

  /** Removes the first request of a priority. */
  take(priority: Priority): DeferredRequest | undefined {
    const request = this.#queues[priority].shift();
    if (request !== undefined) this.#size -= 1;
    return request;
  }

  /** Removes the request that is to be handled next. */
  takeNext(): DeferredRequest | undefined {
    for (const priority of PRIORITIES) {
      const request = this.take(priority);
      if (request !== undefined) return request;
    }
    return undefined;
  }
}
