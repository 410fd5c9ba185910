/** What a limit of places is by definition: who holds one, and until when, in whole microseconds. */
export class OraclePlaces {
  readonly #limit: number;
  readonly #ttl: bigint;
  readonly #until = new Map<string, bigint>();

  constructor(limit: number, ttlMs: number) {
    this.#limit = limit;
    this.#ttl = BigInt(ttlMs) * 1_000n;
  }

  /** How many places are held. */
  taken(now: bigint): number {
    return [...this.#until.values()].filter((until) => until > now).length;
  }

  hasRoom(now: bigint): boolean {
    return this.taken(now) < this.#limit;
  }

  /** Takes a place, or renews it. */
  hold(holder: string, now: bigint): void {
    this.#until.set(holder, now + this.#ttl);
  }

  isHeld(holder: string, now: bigint): boolean {
    return (this.#until.get(holder) ?? 0n) > now;
  }

  leave(holder: string): void {
    this.#until.delete(holder);
  }
}
