import { CommandError } from "../command/command-error.ts";
import type { MemoryBudget } from "../log/memory-budget.ts";
import { formatCount } from "../output/number.ts";
import { subjectOfClient } from "./subject-of-client.ts";

/** Numbers with room for so many: the same where there is, else a copy of twice the size. */
export function growTo(numbers: Uint32Array, length: number): Uint32Array {
  if (length <= numbers.length) return numbers;
  const larger = new Uint32Array(Math.max(length, numbers.length * 2));
  larger.set(numbers);
  return larger;
}

/** More clients than a trace can tell apart. */
const MAX_CLIENTS = 2 ** 24 - 1;

/** Bytes of a client, without its name, at the moment at which the table grows. */
const BYTES_PER_CLIENT = 130;

/**
 * The clients of a log, by numbers from 0, and the subjects that they count as: clients themselves mostly, whose number is then the
 * same; an IPv6 client counts as its network.
 */
export class ClientTable {
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];
  #subjects: Uint32Array = new Uint32Array(1_024);
  #requests: Uint32Array = new Uint32Array(1_024);
  #count = 0;
  readonly #room: MemoryBudget;

  constructor(room: MemoryBudget) {
    this.#room = room;
  }

  /** Different clients that asked. */
  get count(): number {
    return this.#count;
  }

  /** Counts a request; returns the number of its client. Throws a `CommandError` where there are too many. */
  add(client: string): number {
    const number = this.#numbers.get(client) ?? this.#addClient(client);
    const requests = this.#requests[number] as number;
    if (requests === 0) this.#count += 1;
    this.#requests[number] = requests + 1;
    return number;
  }

  nameOf(number: number): string {
    return this.#names[number] as string;
  }

  requestsOf(number: number): number {
    return this.#requests[number] as number;
  }

  /** The number of the subject that a client counts as. */
  subjectOf(number: number): number {
    return this.#subjects[number] as number;
  }

  #addClient(client: string): number {
    const number = this.#addName(client);
    const subject = subjectOfClient(client);
    if (subject !== client) {
      this.#subjects[number] = this.#numbers.get(subject) ?? this.#addName(subject);
    }
    return number;
  }

  #addName(name: string): number {
    const number = this.#names.length;
    if (number >= MAX_CLIENTS) {
      throw new CommandError(
        `more than ${formatCount(MAX_CLIENTS)} clients: replay a part of the log`,
      );
    }
    this.#room.reserve(BYTES_PER_CLIENT + name.length);
    this.#numbers.set(name, number);
    this.#names.push(name);
    this.#subjects = growTo(this.#subjects, number + 1);
    this.#requests = growTo(this.#requests, number + 1);
    this.#subjects[number] = number;
    return number;
  }
}
