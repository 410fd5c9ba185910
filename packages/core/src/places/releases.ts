import type { Counter } from "../store/counter.ts";

/** Tells those who wait for a place in this process that one was given back here. */
export class Releases {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Calls back when a place of one of these counters is given back, until the function that is returned is called. */
  on(keys: readonly string[], callback: () => void): () => void {
    for (const key of keys) {
      const callbacks = this.#waiting.get(key) ?? new Set();
      this.#waiting.set(key, callbacks.add(callback));
    }
    return () => {
      for (const key of keys) {
        const callbacks = this.#waiting.get(key);
        callbacks?.delete(callback);
        if (callbacks?.size === 0) this.#waiting.delete(key);
      }
    };
  }

  announce(counters: readonly Counter[]): void {
    for (const { key } of counters) {
      for (const callback of [...(this.#waiting.get(key) ?? [])]) callback();
    }
  }
}
