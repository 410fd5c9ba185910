import { getHeapStatistics } from "node:v8";
import { CommandError } from "../command/command-error.ts";

/** The heap that this program takes without a log, in bytes. */
const PROGRAM_BYTES = 67_108_864;

/** Shares of the remaining heap for the parts that grow with a log. The rest is for garbage, and for the result. */
const SHARES = { stores: 0.5, clients: 0.33, waiting: 0.08 } as const;

/** How many bytes of the heap a part may take. */
export function heapBytesFor(part: keyof typeof SHARES): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  return Math.max(limit - PROGRAM_BYTES, limit / 4) * SHARES[part];
}

/** A part of the heap that is taken bit by bit. */
export class MemoryBudget {
  #remaining: number;

  constructor(bytes: number) {
    this.#remaining = bytes;
  }

  /** Throws a `CommandError` where nothing is left: a process whose heap is full dies without a word. */
  reserve(bytes: number): void {
    this.#remaining -= bytes;
    if (this.#remaining < 0) throw outOfMemoryError();
  }
}

function outOfMemoryError(): CommandError {
  const megabytes = Math.round(getHeapStatistics().heap_size_limit / 1_048_576);
  return new CommandError(
    `the log has more clients than fit into the memory of this process (${megabytes} MB): replay a part of the log, or allow more memory, as in NODE_OPTIONS=--max-old-space-size=${2 * megabytes}`,
  );
}
