/** How long each of a known number of calls took, in milliseconds. */
export class Latencies {
  readonly #times: Float64Array;
  #count = 0;
  #sorted = true;

  constructor(capacity: number) {
    this.#times = new Float64Array(capacity);
  }

  add(ms: number): void {
    this.#times[this.#count] = ms;
    this.#count += 1;
    this.#sorted = false;
  }

  /** The smallest time that a share of all calls (0 < share <= 1) did not exceed; null without calls. */
  percentile(share: number): number | null {
    const times = this.#times.subarray(0, this.#count);
    if (!this.#sorted) times.sort();
    this.#sorted = true;
    return times[Math.ceil(share * this.#count) - 1] ?? null;
  }
}
