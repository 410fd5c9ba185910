/** How many collected objects may stay in a list before it is swept. */
const MIN_SWEEP_SIZE = 64;

/** Objects that the list does not keep alive, in insertion order. */
export class WeakList<T extends object> {
  readonly #refs = new Set<WeakRef<T>>();
  readonly #onEmpty: () => void;
  #sweepAt = MIN_SWEEP_SIZE;

  /** `onEmpty` is called when the last one is removed. */
  constructor(onEmpty: () => void = () => {}) {
    this.#onEmpty = onEmpty;
  }

  /** Returns a function that removes it. */
  add(item: T): () => void {
    const ref = new WeakRef(item);
    this.#refs.add(ref);
    if (this.#refs.size >= this.#sweepAt) this.#sweep();
    return () => {
      if (this.#refs.delete(ref) && this.#refs.size === 0) this.#onEmpty();
    };
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const ref of this.#refs) {
      const item = ref.deref();
      if (item !== undefined) yield item;
    }
  }

  #sweep(): void {
    for (const ref of this.#refs) if (ref.deref() === undefined) this.#refs.delete(ref);
    this.#sweepAt = Math.max(MIN_SWEEP_SIZE, 2 * this.#refs.size);
  }
}
