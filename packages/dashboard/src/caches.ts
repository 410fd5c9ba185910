/** A value, and when the process began to read it. */
interface Snapshot {
  readonly startedAt: number;
  readonly value: Promise<unknown>;
  state: "pending" | "read" | "failed";
}

/** How long a failed read stands for the next one by default, at most: Redis may answer again, or be slow because much is read. */
const MAX_FAILURE_AGE_MS = 10_000;

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

  /**
   * The cached value of a key if its read began less than `maxAgeMs` ago, or `maxFailureAgeMs` if it failed, or is in progress;
   * otherwise reads it again.
   */
  get<T>(
    key: string,
    read: () => Promise<T>,
    maxAgeMs = 2_000,
    maxFailureAgeMs: number = Math.min(maxAgeMs, MAX_FAILURE_AGE_MS),
  ): Promise<T> {
    const cached = this.#snapshots.get(key);
    const now = this.#now();
    if (cached !== undefined) {
      const mostMs = cached.state === "failed" ? maxFailureAgeMs : maxAgeMs;
      if (cached.state === "pending" || now - cached.startedAt < mostMs) {
        return cached.value as Promise<T>;
      }
    }
    const value = read();
    const snapshot: Snapshot = { startedAt: now, value, state: "pending" };
    const end = (state: Snapshot["state"]) => (): void => {
      snapshot.state = state;
    };
    value.then(end("read"), end("failed"));
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

/** Which limiters and breakers a visitor may see. */
export interface Visibility {
  canSee(name: string): boolean;
  /** The answers of `canSee` that the visitor's data depends on, by name. */
  readonly answers: ReadonlyMap<string, boolean>;
}

/** A result, and the answers that it depends on. */
interface Shared {
  readonly madeAt: number;
  readonly answers: Visibility["answers"];
  readonly value: object;
}

/** How long a result is shared, in milliseconds. */
const MAX_AGE_MS = 2_000;

/** The maximum number of results of a key, which is that of visitors who see different limiters. A new one replaces the oldest. */
const MAX_RESULTS = 20;

/**
 * Shares results among visitors. A result depends on a visitor only by the answers of `canSee` for the names in the data, so visitors
 * with the same answers have the same result. Keys come from the program, never from visitors.
 */
export class ResultCache {
  #results = new Map<string, readonly Shared[]>();
  readonly #now: () => number;

  /** `now` is a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * The result of a key, made less than two seconds ago for a visitor who may see the same names; otherwise loads the data, and makes
   * the result at once, so that requests at the same time make it once.
   */
  async get<Data, Result extends object>(
    key: string,
    visibility: Visibility,
    load: () => Promise<Data>,
    make: (data: Data) => Result,
  ): Promise<Result> {
    const known = this.#find(key, visibility);
    if (known !== undefined) return known as Result;
    const results = this.#results;
    const data = await load();
    const made = this.#find(key, visibility);
    if (made !== undefined) return made as Result;
    const value = make(data);
    const shared = { madeAt: this.#now(), answers: new Map(visibility.answers), value };
    // After `clear`, this map is no longer read: an action may have changed the data.
    results.set(key, [shared, ...this.#fresh(results, key)].slice(0, MAX_RESULTS));
    return value;
  }

  /** Drops all results, so that the next request sees the effect of an action. */
  clear(): void {
    this.#results = new Map();
  }

  #find(key: string, { canSee }: Visibility): object | undefined {
    return this.#fresh(this.#results, key).find(({ answers }) => {
      for (const [name, answer] of answers) if (canSee(name) !== answer) return false;
      return true;
    })?.value;
  }

  #fresh(results: ReadonlyMap<string, readonly Shared[]>, key: string): readonly Shared[] {
    const now = this.#now();
    return (results.get(key) ?? []).filter(({ madeAt }) => now - madeAt < MAX_AGE_MS);
  }
}
