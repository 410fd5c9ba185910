import type { Called, Counts, WindowOracle } from "./oracle-window.ts";
import { count } from "./oracle-window.ts";

/** Microseconds without an outcome after which all are forgotten: a day. */
const FORGOTTEN_AFTER = 86_400_000_000n;

/** The last so many outcomes, however old, unless none came for a day. */
export class CallsWindowOracle implements WindowOracle {
  readonly #length: number;
  #kept: readonly Called[] = [];
  #newest = 0n;

  constructor(length: number) {
    this.#length = length;
  }

  add(called: Called, now: bigint): void {
    this.#stepBack(now);
    this.#kept = [...this.#counting(now), called].slice(-this.#length);
    this.#newest = now;
  }

  counts(now: bigint): Counts {
    this.#stepBack(now);
    return count(this.#counting(now));
  }

  clear(): void {
    this.#kept = [];
  }

  #counting(now: bigint): readonly Called[] {
    return now - this.#newest >= FORGOTTEN_AFTER ? [] : this.#kept;
  }

  #stepBack(now: bigint): void {
    if (this.#newest > now) this.#newest = now;
  }
}
