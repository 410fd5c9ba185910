import { getHeapStatistics } from "node:v8";
import { HeadgateError } from "@headgate/core";

/** The heap of this program without a log, in bytes. */
const PROGRAM_BYTES = 67_108_864;

/** The shares of the remaining heap for the parts that grow with a log. The rest is for garbage and the result. */
const SHARES = { stores: 0.5, clients: 0.33, waiting: 0.08 } as const;

/** The bytes of the heap that a part may use. */
export function heapBytesFor(part: keyof typeof SHARES): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  return Math.max(limit - PROGRAM_BYTES, limit / 4) * SHARES[part];
}

/** A number of heap bytes that may be used. */
export class MemoryBudget {
  #remaining: number;

  constructor(bytes: number) {
    this.#remaining = bytes;
  }

  /** Throws `HEADGATE_LOG_TOO_LARGE` if the budget is exceeded, because a process whose heap is full dies without a message. */
  reserve(bytes: number): void {
    this.#remaining -= bytes;
    if (this.#remaining < 0) throw outOfMemoryError();
  }
}

function outOfMemoryError(): HeadgateError {
  const megabytes = Math.round(getHeapStatistics().heap_size_limit / 1_048_576);
  return new HeadgateError(
    "HEADGATE_LOG_TOO_LARGE",
    `the log has more clients than fit into the memory of this process (${megabytes} MB): replay a part of the log, or allow more memory with NODE_OPTIONS=--max-old-space-size=${2 * megabytes}`,
  );
}
