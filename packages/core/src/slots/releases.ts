import type { Counter } from "../operations/counter.ts";

/** Notifies calls that wait for a slot in this process when one was released here. */
export class Releases {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Calls back when a slot of one of these counters is released, until the returned function is called. */
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
