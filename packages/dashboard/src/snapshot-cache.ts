/** A value, and when the process began to read it. */
interface Snapshot {
  readonly startedAt: number;
  readonly value: Promise<unknown>;
  isPending: boolean;
}

/** The maximum number of snapshots; a new one replaces the oldest. */
const MAX_SNAPSHOTS = 200;

/**
 * Caches data from Redis for all visitors: for each key, at most one read is in progress, and the next one begins only when the
 * snapshot is too old.
 */
export class SnapshotCache {
  readonly #snapshots = new Map<string, Snapshot>();
  readonly #now: () => number;

  /** `now` is a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The cached value of a key if its read began less than `maxAgeMs` ago or is in progress; otherwise reads it again. */
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

  /** Drops all snapshots, so that the next request sees the effect of an action. */
  clear(): void {
    this.#snapshots.clear();
  }
}
