/**
 * A map of at most `max` entries: a new one beyond that evicts the least recently used. Used instead of lru-cache in code that
 * every application loads: that package takes longer to load than it saves.
 */
export class LruMap<Key, Value extends object> {
  readonly #max: number;
  readonly #entries = new Map<Key, Value>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** Returns the evicted value, if any. */
  set(key: Key, value: Value): Value | undefined {
    // A map iterates over its keys in insertion order, so re-inserting makes this the newest.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return undefined;
    for (const [oldest, dropped] of this.#entries) {
      this.#entries.delete(oldest);
      return dropped;
    }
    return undefined;
  }

  /** From the least recently used on. */
  values(): Iterable<Value> {
    return this.#entries.values();
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }
}
