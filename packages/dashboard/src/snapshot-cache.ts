/** A value, and when its reading began. */
interface Snapshot {
  readonly startedAt: number;
  readonly value: Promise<unknown>;
  isPending: boolean;
}

/** The most snapshots kept; the oldest is dropped for another one. */
const MAX_SNAPSHOTS = 200;

/**
 * Data read from Redis, shared by all visitors: at most one reading of a kind is in progress at a time, and a new one begins
 * only after an interval.
 */
export class SnapshotCache {
  readonly #snapshots = new Map<string, Snapshot>();
  readonly #now: () => number;

  /** `now` is a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The value of a key: the cached one, if its reading began less than `everyMs` ago or is in progress, or a new one. */
  get<T>(key: string, read: () => Promise<T>, maxAgeMs = 2_000): Promise<T> {
    const cached = this.#snapshots.get(key);
    const now = this.#now();
    if (cached !== undefined && (cached.isPending || now - cached.startedAt < maxAgeMs)) {
      return cached.value as Promise<T>;
    }
    const value = read();
    const snapshot: Snapshot = { startedAt: now, value, isPending: true };
    const end = (): void => {
      snapshot.isPending = false;
    };
    value.then(end, end);
    this.#snapshots.delete(key);
    this.#snapshots.set(key, snapshot);
    const [oldest] = this.#snapshots.keys();
    if (this.#snapshots.size > MAX_SNAPSHOTS && oldest !== undefined)
      this.#snapshots.delete(oldest);
    return value;
  }

  /** Drops everything after an action, so that its effect is visible to the next request. */
  clear(): void {
    this.#snapshots.clear();
  }
}
