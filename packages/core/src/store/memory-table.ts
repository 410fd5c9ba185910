import { IndexedHeap } from "./indexed-heap.ts";

/** How much would be lost if a value were evicted. */
export interface Rank {
  /** The used share of the most used limit, 0 to 1. */
  readonly share: number;
  /** Microseconds since the epoch at which the value is equivalent to an absent one. */
  readonly expires: number;
  /** Log entries in the value. */
  readonly entries: number;
}

interface Row {
  readonly key: string;
  /** Its number in the heaps. */
  readonly id: number;
  value: object;
  entries: number;
}

/** The most entries of all logs of a table together: one log at the largest limit always fits. */
const MAX_ENTRIES = 1_048_576;

/** The most expired rows swept with each added row, so that a sweep never holds up a request. */
const SWEPT_PER_ADDITION = 2;

/**
 * Microseconds for which expired rows are kept while there is room: removing a row and adding it again costs more than a
 * decision, and a subject that spends little of a fast limit expires between any two requests.
 */
const KEPT_AFTER = 1_000_000;

/**
 * A bounded table without timers. Expired values are evicted first; when it is full, the value with the lowest used share is,
 * and among equals the one that expires first. Share and expiry are those of the last write.
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
  entries = 0;
  /** How many values were evicted before they expired. */
  evicted = 0;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): object | undefined {
    return this.#rows.get(key)?.value;
  }

  set(key: string, value: object, rank: Rank, now: number): void {
    const { share, expires, entries } = rank;
    const row = this.#rows.get(key);
    if (row === undefined) {
      this.#makeRoom(now);
      this.#boundEntries(entries, now);
      this.#add(key, value, rank);
    } else {
      if (row.entries > 0) this.#forgetEntries(row);
      row.value = value;
      row.entries = entries;
      this.#byShare.update(row.id, share, expires);
      this.#byExpiry.update(row.id, expires, 0);
      if (entries === 0) return;
      this.#boundEntries(entries, now);
      this.#countEntries(row, share, expires);
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
    this.entries = 0;
  }

  #add(key: string, value: object, { share, expires, entries }: Rank): void {
    const id = this.#freeIds.pop() ?? this.#byId.length;
    const row = { key, id, value, entries };
    this.#rows.set(key, row);
    this.#byId[id] = row;
    this.#byShare.add(id, share, expires);
    this.#byExpiry.add(id, expires, 0);
    if (entries > 0) this.#countEntries(row, share, expires);
  }

  #remove(row: Row): void {
    this.#rows.delete(row.key);
    this.#byId[row.id] = undefined;
    this.#freeIds.push(row.id);
    this.#byShare.remove(row.id);
    this.#byExpiry.remove(row.id);
    if (row.entries > 0) this.#forgetEntries(row);
  }

  #countEntries(row: Row, share: number, expires: number): void {
    this.entries += row.entries;
    this.#logsByShare.add(row.id, share, expires);
  }

  #forgetEntries(row: Row): void {
    this.entries -= row.entries;
    this.#logsByShare.remove(row.id);
  }

  #makeRoom(now: number): void {
    for (let swept = 0; swept < SWEPT_PER_ADDITION; swept += 1) {
      if (!this.#giveUp(this.#byExpiry.firstUpTo(now - KEPT_AFTER))) break;
    }
    if (this.#rows.size < this.#maxKeys) return;
    if (!this.#giveUp(this.#byExpiry.firstUpTo(now))) this.#evict(this.#byShare.first, now);
  }

  /** Makes room for the entries of a row that is not included in the count. */
  #boundEntries(entries: number, now: number): void {
    while (this.entries + entries > MAX_ENTRIES && this.#evict(this.#logsByShare.first, now));
  }

  /** Evicts a row that may not have expired. */
  #evict(id: number | undefined, now: number): boolean {
    if (id !== undefined && this.#byExpiry.rankOf(id) > now) this.evicted += 1;
    return this.#giveUp(id);
  }

  /** Removes the row of a number; false when there is none. */
  #giveUp(id: number | undefined): boolean {
    if (id === undefined) return false;
    this.#remove(this.#byId[id] as Row);
    return true;
  }
}
