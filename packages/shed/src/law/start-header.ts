/** How long the smallest difference is kept at least, in milliseconds, and at most twice as long. */
const WINDOW_MS = 30_000;

/** A header that is further from the process's clock says nothing. */
const MAX_DIFFERENCE_MS = 60_000;

/**
 * Reads how long a request has been on its way from a proxy, by the proxy's clock. The clocks of two machines differ, so the
 * smallest difference of the last 30 to 60 seconds counts as none.
 */
export class StartHeaderClock {
  #windowEndsAt = Number.NEGATIVE_INFINITY;
  #smallest = Number.POSITIVE_INFINITY;
  #smallestBefore = Number.POSITIVE_INFINITY;

  /**
   * Milliseconds since the request arrived at the proxy; 0 if that is not known. `now` is a clock that never steps, and `date` the
   * Unix time: a clock that kept the Unix time of the start would be wrong for good once the machine's was set, or after a suspension.
   */
  elapsed(header: string | undefined, now: number, date: number): number {
    if (header === undefined) return 0;
    const difference = date - parseStart(header);
    // Also false for text that is no time.
    if (!(Math.abs(difference) <= MAX_DIFFERENCE_MS)) return 0;
    if (now >= this.#windowEndsAt) {
      const isNext = now < this.#windowEndsAt + WINDOW_MS;
      this.#smallestBefore = isNext ? this.#smallest : Number.POSITIVE_INFINITY;
      this.#smallest = difference;
      this.#windowEndsAt = now + WINDOW_MS;
    } else if (difference < this.#smallest) this.#smallest = difference;
    return difference - Math.min(this.#smallest, this.#smallestBefore);
  }
}

/**
 * The Unix time in milliseconds of `X-Request-Start`. Proxies write seconds (nginx, `t=1700000000.123`), milliseconds (Heroku) or
 * microseconds (Apache, `t=1700000000123456`), which differ in size.
 */
function parseStart(header: string): number {
  const time = Number(header.startsWith("t=") ? header.slice(2) : header);
  if (time > 1e14) return time / 1_000;
  return time > 1e11 ? time : time * 1_000;
}
