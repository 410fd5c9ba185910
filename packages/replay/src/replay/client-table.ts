import { isIP } from "node:net";
import { HeadgateError } from "@headgate/core";
import { subjectOfAddress } from "@headgate/core/http";
import { formatCount } from "../format/number.ts";
import type { MemoryBudget } from "../log/memory-budget.ts";

/** Returns the array if it has the length, else a copy that is at least twice as large. */
export function growTo(numbers: Uint32Array, length: number): Uint32Array {
  if (length <= numbers.length) return numbers;
  const larger = new Uint32Array(Math.max(length, numbers.length * 2));
  larger.set(numbers);
  return larger;
}

/** The most clients that a trace can distinguish. */
const MAX_CLIENTS = 2 ** 24 - 1;

/** The bytes of a client without its name, at the moment when the table grows. */
const BYTES_PER_CLIENT = 130;

/**
 * Numbers the clients of a log from 0, and their subjects. The subject of most clients is the client itself, with the same number; the
 * subject of an IPv6 client is its network.
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

  /** The number of distinct clients with a request. */
  get count(): number {
    return this.#count;
  }

  /** Counts a request; returns the number of its client. Throws `HEADGATE_LOG_TOO_LARGE` if there are too many clients. */
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

  /** The number of the subject of a client. */
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
      throw new HeadgateError(
        "HEADGATE_LOG_TOO_LARGE",
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

/** An address with a port, as some proxies log it. */
const WITH_PORT = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;

/** The subject that an adapter would use for a client of a log: its address, its IPv6 network, or its host name. */
function subjectOfClient(client: string): string {
  const match = WITH_PORT.exec(client);
  const address = match?.[1] ?? match?.[2] ?? client;
  return isIP(address) === 0 ? escapeHostName(client) : subjectOfAddress(address);
}

/** Escapes a text that is not an address, so that it cannot be taken for a network. */
export function escapeHostName(client: string): string {
  return client.toWellFormed().replace(/[^\w.:[\]-]+/g, encodeURIComponent);
}
