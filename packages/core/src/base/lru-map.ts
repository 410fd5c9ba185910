/**
 * A map of at most `max` entries; beyond that, a new one drops the least recently used. It replaces lru-cache where every
 * application loads it: the package takes longer to load than it saves.
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

  /** Returns the value that was dropped, if any. */
  set(key: Key, value: Value): Value | undefined {
    // A map lists its keys in the order in which they were added.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return undefined;
    for (const [oldest, dropped] of this.#entries) {
      this.#entries.delete(oldest);
      return dropped;
    }
    return undefined;
  }

  /** The least recently used first. */
  values(): Iterable<Value> {
    return this.#entries.values();
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }
}
