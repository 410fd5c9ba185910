import type { LogEntry } from "./log-entry.ts";

/** Requests are sorted within this time of the log. */
const WINDOW_SECONDS = 120;

/** The most requests in the buffer. */
const MAX_BUFFERED = 1_000_000;

/** The bytes of a buffered request without its strings. */
const BYTES_PER_REQUEST = 200;

/** The size of the ring of seconds: a power of two above the window. */
const BUCKETS = 128;

/**
 * Sorts requests by time. Each is buffered with those of its second until a request arrives that is 120 seconds later, or the buffer is
 * full. Equal times keep their order. A request that comes later still is `late`, and gets the time of the last released
 * one.
 */
export class ReorderBuffer {
  /** Buffered requests by second, as a ring. */
  readonly #seconds: LogEntry[][] = Array.from({ length: BUCKETS }, () => []);
  readonly #maxBuffered: number;
  readonly #maxBytes: number;
  /** The first second in the buffer. */
  #first = 0;
  #last = -1;
  #buffered = 0;
  #bytes = 0;
  /** The time of the last released request. */
  #lastReleased = 0;
  /** The latest time added so far. */
  #latest = 0;
  #ready: LogEntry[] = [];
  #reordered = 0;
  #late = 0;

  /** `maxBytes` limits the size of the buffered requests. */
  constructor(maxBytes: number, maxWaiting: number = MAX_BUFFERED) {
    this.#maxBytes = maxBytes;
    this.#maxBuffered = maxWaiting;
  }

  /** The number of requests that were out of order and were sorted. */
  get reordered(): number {
    return this.#reordered;
  }

  get late(): number {
    return this.#late;
  }

  add(request: LogEntry): void {
    const { time } = request;
    const second = Math.floor(time / 1_000);
    if (second > this.#last) this.#advanceTo(second);
    if (second < this.#first) {
      this.#addLate(request);
      return;
    }
    if (time < this.#latest) this.#reordered += 1;
    else this.#latest = time;
    this.#bucketOf(second).push(request);
    this.#buffered += 1;
    this.#bytes += bytesOf(request);
    while (this.#buffered > this.#maxBuffered || this.#bytes > this.#maxBytes) this.#release();
  }

  /** Takes the released requests. */
  take(): readonly LogEntry[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** Releases all requests at the end of the log. */
  end(): void {
    while (this.#buffered > 0) this.#release();
  }

  #advanceTo(second: number): void {
    while (this.#buffered > 0 && this.#first < second - WINDOW_SECONDS) this.#release();
    this.#first = Math.max(this.#first, second - WINDOW_SECONDS);
    this.#last = second;
  }

  /** Releases the requests of the first second. */
  #release(): void {
    const requests = this.#bucketOf(this.#first);
    this.#first += 1;
    if (requests.length === 0) return;
    if (!isSorted(requests)) requests.sort((a, b) => a.time - b.time);
    for (const request of requests) {
      this.#ready.push(request);
      this.#bytes -= bytesOf(request);
    }
    this.#lastReleased = (requests.at(-1) as LogEntry).time;
    this.#buffered -= requests.length;
    requests.length = 0;
  }

  /** A request of a released second is in time if it is not earlier than the last released request. */
  #addLate(request: LogEntry): void {
    const { time } = request;
    if (time >= this.#lastReleased) {
      if (time < this.#latest) this.#reordered += 1;
      this.#lastReleased = time;
      this.#ready.push(request);
    } else {
      this.#late += 1;
      this.#ready.push({ ...request, time: this.#lastReleased });
    }
  }

  #bucketOf(second: number): LogEntry[] {
    return this.#seconds[second % BUCKETS] as LogEntry[];
  }
}

function bytesOf({ client, path = "", agent = "" }: LogEntry): number {
  return BYTES_PER_REQUEST + client.length + path.length + agent.length;
}

function isSorted(requests: readonly LogEntry[]): boolean {
  for (let i = 1; i < requests.length; i += 1) {
    if ((requests[i] as LogEntry).time < (requests[i - 1] as LogEntry).time) return false;
  }
  return true;
}
