import type { LoggedRequest } from "./logged-request.ts";

/** Seconds of log time within which requests are put in order. */
const WINDOW_SECONDS = 120;

/** The most requests that wait for possibly earlier ones. */
const MAX_BUFFERED = 1_000_000;

/** Bytes of a request that waits, without its texts. */
const BYTES_PER_REQUEST = 200;

/** A power of two that has room for all the seconds that wait. */
const BUCKETS = 128;

/**
 * Puts requests in order: each waits, with those of its second, until one has come that is 120 seconds later, or too many
 * are waiting. Equal times stay as they came. A later request is `late`, and gets the time of the last one that
 * went.
 */
export class ReorderBuffer {
  /** Requests by their second, in a circle. */
  readonly #seconds: LoggedRequest[][] = Array.from({ length: BUCKETS }, () => []);
  readonly #maxBuffered: number;
  readonly #maxBytes: number;
  /** No second before this one waits. */
  #first = 0;
  #last = -1;
  #buffered = 0;
  #bytes = 0;
  /** The time of the last request that went. */
  #lastReleased = 0;
  /** The latest time so far. */
  #latest = 0;
  #ready: LoggedRequest[] = [];
  #reordered = 0;
  #late = 0;

  /** `maxBytes`: of all requests that wait. */
  constructor(maxBytes: number, maxWaiting: number = MAX_BUFFERED) {
    this.#maxBytes = maxBytes;
    this.#maxBuffered = maxWaiting;
  }

  /** Requests that were earlier than one before them, and were put in order. */
  get reordered(): number {
    return this.#reordered;
  }

  get late(): number {
    return this.#late;
  }

  add(request: LoggedRequest): void {
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

  /** What is in order by now. */
  take(): readonly LoggedRequest[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** Lets everything go: no more will come. */
  end(): void {
    while (this.#buffered > 0) this.#release();
  }

  #advanceTo(second: number): void {
    while (this.#buffered > 0 && this.#first < second - WINDOW_SECONDS) this.#release();
    this.#first = Math.max(this.#first, second - WINDOW_SECONDS);
    this.#last = second;
  }

  /** Lets the requests of the first second go. */
  #release(): void {
    const requests = this.#bucketOf(this.#first);
    this.#first += 1;
    if (requests.length === 0) return;
    if (!isSorted(requests)) requests.sort((a, b) => a.time - b.time);
    for (const request of requests) {
      this.#ready.push(request);
      this.#bytes -= bytesOf(request);
    }
    this.#lastReleased = (requests.at(-1) as LoggedRequest).time;
    this.#buffered -= requests.length;
    requests.length = 0;
  }

  /** A request of a second that went may still be no earlier than the last one that did. */
  #addLate(request: LoggedRequest): void {
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

  #bucketOf(second: number): LoggedRequest[] {
    return this.#seconds[second % BUCKETS] as LoggedRequest[];
  }
}

function bytesOf({ client, path }: LoggedRequest): number {
  return BYTES_PER_REQUEST + client.length + path.length;
}

function isSorted(requests: readonly LoggedRequest[]): boolean {
  for (let i = 1; i < requests.length; i += 1) {
    if ((requests[i] as LoggedRequest).time < (requests[i - 1] as LoggedRequest).time) return false;
  }
  return true;
}
