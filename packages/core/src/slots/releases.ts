import type { Counter } from "../operations/counter.ts";

/** Notifies the calls that wait for a slot in this process when a slot is released in it. */
export class Releases {
  readonly #callbacks = new Map<string, Set<() => void>>();

  /** Calls back when a slot of one of these counters is released, until the returned function is called. */
  onRelease(keys: readonly string[], callback: () => void): () => void {
    for (const key of keys) {
      const callbacks = this.#callbacks.get(key) ?? new Set();
      this.#callbacks.set(key, callbacks.add(callback));
    }
    return () => {
      for (const key of keys) {
        const callbacks = this.#callbacks.get(key);
        callbacks?.delete(callback);
        if (callbacks?.size === 0) this.#callbacks.delete(key);
      }
    };
  }

  notify(counters: readonly Counter[]): void {
    for (const { key } of counters) {
      for (const callback of [...(this.#callbacks.get(key) ?? [])]) callback();
    }
  }
}
