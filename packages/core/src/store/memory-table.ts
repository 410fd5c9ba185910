import { IndexedHeap } from "./indexed-heap.ts";

/** How much an eviction of the value would lose. */
export interface EvictionRank {
  /** The used share of the most used limit, 0 to 1. */
  readonly usedShare: number;
  /** Microseconds since the epoch at which the value is equivalent to an absent one. */
  readonly expiresAt: number;
  /** Log entries in the value. */
  readonly logEntries: number;
}

interface Row {
  readonly key: string;
  /** Its id in the heaps. */
  readonly id: number;
  value: object;
  logEntries: number;
}

/** The most log entries in a table. One log at the largest limit always fits. */
const MAX_LOG_ENTRIES = 1_048_576;

/** The most expired rows removed with each added row, so that a sweep never delays a request. */
const SWEEPS_PER_ADDITION = 2;

/**
 * Microseconds for which expired rows stay while there is room. Removing and adding a row costs more than a decision, and a
 * subject that uses little of a fast limit expires between any two requests.
 */
const EXPIRY_GRACE_MICROS = 1_000_000;

/**
 * A bounded table without timers. A full table evicts expired values first, then the value with the lowest used share and,
 * among equals, the one that expires first. Used share and expiry are as of the last write.
 */
export class MemoryTable {
  readonly #maxKeys: number;
  readonly #rows = new Map<string, Row>();
  readonly #byId: (Row | undefined)[] = [];
  /** Ids of removed rows. */
  readonly #freeIds: number[] = [];
  #byShare = new IndexedHeap();
  #byExpiry = new IndexedHeap();
  /** Rows with log entries: only evicting these makes room for entries. */
  #logsByShare = new IndexedHeap();
  /** Log entries in all values together. */
  logEntries = 0;
  /** Values evicted before they expired. */
  evictions = 0;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): object | undefined {
    return this.#rows.get(key)?.value;
  }

  set(key: string, value: object, rank: EvictionRank, now: number): void {
    const { usedShare, expiresAt, logEntries } = rank;
    const row = this.#rows.get(key);
    if (row === undefined) {
      this.#makeRoom(now);
      this.#makeRoomForEntries(logEntries, now);
      this.#add(key, value, rank);
    } else {
      if (row.logEntries > 0) this.#subtractEntries(row);
      row.value = value;
      row.logEntries = logEntries;
      this.#byShare.update(row.id, usedShare, expiresAt);
      this.#byExpiry.update(row.id, expiresAt, 0);
      if (logEntries === 0) return;
      this.#makeRoomForEntries(logEntries, now);
      this.#addEntries(row, usedShare, expiresAt);
    }
  }

  delete(key: string): boolean {
    const row = this.#rows.get(key);
    if (row === undefined) return false;
    this.#remove(row);
    return true;
  }

  clear(): void {
    this.#rows.clear();
    this.#byId.length = 0;
    this.#freeIds.length = 0;
    this.#byShare = new IndexedHeap();
    this.#byExpiry = new IndexedHeap();
    this.#logsByShare = new IndexedHeap();
    this.logEntries = 0;
  }

  #add(key: string, value: object, { usedShare, expiresAt, logEntries }: EvictionRank): void {
    const id = this.#freeIds.pop() ?? this.#byId.length;
    const row = { key, id, value, logEntries };
    this.#rows.set(key, row);
    this.#byId[id] = row;
    this.#byShare.add(id, usedShare, expiresAt);
    this.#byExpiry.add(id, expiresAt, 0);
    if (logEntries > 0) this.#addEntries(row, usedShare, expiresAt);
  }

  #remove(row: Row): void {
    this.#rows.delete(row.key);
    this.#byId[row.id] = undefined;
    this.#freeIds.push(row.id);
    this.#byShare.remove(row.id);
    this.#byExpiry.remove(row.id);
    if (row.logEntries > 0) this.#subtractEntries(row);
  }

  #addEntries(row: Row, share: number, expires: number): void {
    this.logEntries += row.logEntries;
    this.#logsByShare.add(row.id, share, expires);
  }

  #subtractEntries(row: Row): void {
    this.logEntries -= row.logEntries;
    this.#logsByShare.remove(row.id);
  }

  #makeRoom(now: number): void {
    for (let swept = 0; swept < SWEEPS_PER_ADDITION; swept += 1) {
      if (!this.#removeById(this.#byExpiry.firstUpTo(now - EXPIRY_GRACE_MICROS))) break;
    }
    if (this.#rows.size < this.#maxKeys) return;
    if (!this.#removeById(this.#byExpiry.firstUpTo(now))) this.#evict(this.#byShare.first, now);
  }

  /** Makes room for log entries that are not included in `logEntries` yet. */
  #makeRoomForEntries(entries: number, now: number): void {
    while (
      this.logEntries + entries > MAX_LOG_ENTRIES &&
      this.#evict(this.#logsByShare.first, now)
    );
  }

  /** Removes a row; counts an eviction if it has not expired. */
  #evict(id: number | undefined, now: number): boolean {
    if (id !== undefined && this.#byExpiry.majorRankOf(id) > now) this.evictions += 1;
    return this.#removeById(id);
  }

  /** Removes a row; false if there is none. */
  #removeById(id: number | undefined): boolean {
    if (id === undefined) return false;
    this.#remove(this.#byId[id] as Row);
    return true;
  }
}
