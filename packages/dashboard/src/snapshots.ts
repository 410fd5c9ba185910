/** A value, and when its reading began. */
interface Snapshot {
  readonly began: number;
  readonly value: Promise<unknown>;
  isPending: boolean;
}

/** The most snapshots kept; the oldest is dropped for another one. */
const MOST = 200;

/**
 * Data read from Redis, shared by all visitors: at most one reading of a kind is in progress at a time, and a new one begins
 * only after an interval.
 */
export class Snapshots {
  readonly #kept = new Map<string, Snapshot>();
  readonly #now: () => number;

  /** `now` is a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The value of a key: the cached one, if its reading began less than `everyMs` ago or is in progress, or a new one. */
  get<T>(key: string, read: () => Promise<T>, everyMs = 2_000): Promise<T> {
    const kept = this.#kept.get(key);
    const now = this.#now();
    if (kept !== undefined && (kept.isPending || now - kept.began < everyMs)) {
      return kept.value as Promise<T>;
    }
    const value = read();
    const snapshot: Snapshot = { began: now, value, isPending: true };
    const end = (): void => {
      snapshot.isPending = false;
    };
    value.then(end, end);
    this.#kept.delete(key);
    this.#kept.set(key, snapshot);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST && oldest !== undefined) this.#kept.delete(oldest);
    return value;
  }

  /** Drops everything after an action, so that its effect is visible to the next request. */
  clear(): void {
    this.#kept.clear();
  }
}
