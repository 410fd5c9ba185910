import { CommandError } from "../command/command-error.ts";
import type { LoggedRequest } from "../log/logged-request.ts";
import { heapBytesFor, MemoryBudget } from "../log/memory-budget.ts";
import { formatCount } from "../output/number.ts";
import { ClientTable } from "../replay/client-table.ts";

/** The most requests, which take 1.2 GB. */
const MAX_REQUESTS = 100_000_000;

/** Requests in the order of their times, as 12 bytes each. */
export class Recording {
  /** It may use half of the memory for clients, because a replay of the recording has its own table. */
  readonly #clients: ClientTable = new ClientTable(new MemoryBudget(heapBytesFor("clients") / 2));
  #times: Float64Array = new Float64Array(1_024);
  #clientNumbers: Uint32Array = new Uint32Array(1_024);
  #length = 0;
  #highest = -1;

  get clients(): ClientTable {
    return this.#clients;
  }

  get length(): number {
    return this.#length;
  }

  /** An upper bound for the numbers of clients and subjects. */
  get clientNumbers(): number {
    return this.#highest + 1;
  }

  /** Adds requests. Throws a `CommandError` if there are too many. */
  add(requests: readonly LoggedRequest[]): void {
    const length = this.#length + requests.length;
    if (length > MAX_REQUESTS) {
      throw new CommandError(
        `more than ${formatCount(MAX_REQUESTS)} requests: use a part of the log`,
      );
    }
    if (length > this.#times.length) this.#grow(Math.max(length, this.#times.length * 2));
    for (const { time, client } of requests) {
      this.#times[this.#length] = time;
      const number = this.#clients.add(client);
      this.#highest = Math.max(this.#highest, number, this.#clients.subjectOf(number));
      this.#clientNumbers[this.#length] = number;
      this.#length += 1;
    }
  }

  /** Milliseconds since the epoch. */
  timeOf(request: number): number {
    return this.#times[request] as number;
  }

  clientOf(request: number): number {
    return this.#clientNumbers[request] as number;
  }

  /** The number of the subject of the client. */
  subjectOf(request: number): number {
    return this.#clients.subjectOf(this.#clientNumbers[request] as number);
  }

  #grow(length: number): void {
    const [times, numbers] = [new Float64Array(length), new Uint32Array(length)];
    times.set(this.#times);
    numbers.set(this.#clientNumbers);
    this.#times = times;
    this.#clientNumbers = numbers;
  }
}
