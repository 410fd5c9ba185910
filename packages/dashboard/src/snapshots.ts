/** What was read, and when that began. */
interface Snapshot {
  readonly began: number;
  readonly value: Promise<unknown>;
  isPending: boolean;
}

/** So many are kept; the oldest is dropped for another one. */
const MOST = 200;

/** What was read of Redis, shared by all who ask: one reading of a kind is under way at a time, and one begins every so often at most. */
export class Snapshots {
  readonly #kept = new Map<string, Snapshot>();
  readonly #now: () => number;

  /** `now` is a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The value of a key: the one that is kept, if its reading began less than `everyMs` ago or is under way, or a new one. */
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

  /** Forgets all: after an action, the next one who asks sees what it did. */
  clear(): void {
    this.#kept.clear();
  }
}
