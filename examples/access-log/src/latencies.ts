/** How long each of some calls took, in milliseconds. */
export class Latencies {
  readonly #times: number[] = [];
  #sorted = true;

  add(ms: number): void {
    this.#times.push(ms);
    this.#sorted = false;
  }

  /** The smallest time that a share of all calls (0 < share <= 1) did not exceed; null without calls. */
  percentile(share: number): number | null {
    if (!this.#sorted) this.#times.sort((one, other) => one - other);
    this.#sorted = true;
    return this.#times[Math.ceil(share * this.#times.length) - 1] ?? null;
  }
}
