import type { HeapItem } from "./indexed-heap.ts";
import { IndexedHeap } from "./indexed-heap.ts";

/** How much would be lost if a value were forgotten. */
export interface Rank {
  /** The used share of the most used limit, 0 to 1. */
  readonly share: number;
  /** Microseconds since the epoch at which the value is as good as absent. */
  readonly expires: number;
  /** Log entries the value holds. */
  readonly entries: number;
}

interface Row extends HeapItem {
  readonly key: string;
  value: object;
  rank: Rank;
}

/** All logs of a table together hold at most so many entries: one log at the largest limit always fits. */
const MAX_ENTRIES = 1_048_576;

/** At most so many expired rows are swept with each row added, so that a sweep never holds up a request. */
const SWEPT_PER_ADDITION = 2;

/**
 * A bounded table without timers. What has expired goes first; when it is full, the value with the lowest used share
 * goes, and among equals the one that expires first. Share and expiry are those of the last write.
 */
export class MemoryTable {
  readonly #maxKeys: number;
  readonly #rows = new Map<string, Row>();
  readonly #byShare = new IndexedHeap<Row>(0, isLessUsed);
  readonly #byExpiry = new IndexedHeap<Row>(1, (a, b) => a.rank.expires < b.rank.expires);
  /** Those that hold log entries: only to give these up makes room for entries. */
  readonly #logsByShare = new IndexedHeap<Row>(2, isLessUsed);
  #entries = 0;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Log entries held by all values together. */
  get entries(): number {
    return this.#entries;
  }

  get(key: string): object | undefined {
    return this.#rows.get(key)?.value;
  }

  set(key: string, value: object, rank: Rank, now: number): void {
    const row = this.#rows.get(key);
    if (row === undefined) {
      this.#makeRoom(now);
      this.#boundEntries(rank.entries);
      this.#add({ key, value, rank, slots: [0, 0, 0] });
    } else {
      this.#forgetEntries(row);
      row.value = value;
      row.rank = rank;
      this.#byShare.update(row);
      this.#byExpiry.update(row);
      this.#boundEntries(rank.entries);
      this.#countEntries(row);
    }
  }

  delete(key: string): boolean {
    const row = this.#rows.get(key);
    if (row === undefined) return false;
    this.#remove(row);
    return true;
  }

  #add(row: Row): void {
    this.#rows.set(row.key, row);
    this.#byShare.add(row);
    this.#byExpiry.add(row);
    this.#countEntries(row);
  }

  #remove(row: Row): void {
    this.#rows.delete(row.key);
    this.#byShare.remove(row);
    this.#byExpiry.remove(row);
    this.#forgetEntries(row);
  }

  #countEntries(row: Row): void {
    if (row.rank.entries === 0) return;
    this.#entries += row.rank.entries;
    this.#logsByShare.add(row);
  }

  #forgetEntries(row: Row): void {
    if (row.rank.entries === 0) return;
    this.#entries -= row.rank.entries;
    this.#logsByShare.remove(row);
  }

  #makeRoom(now: number): void {
    for (let swept = 0; swept < SWEPT_PER_ADDITION; swept += 1) {
      const oldest = this.#byExpiry.first;
      if (oldest === undefined || oldest.rank.expires > now) break;
      this.#remove(oldest);
    }
    const least = this.#byShare.first;
    if (this.#rows.size >= this.#maxKeys && least !== undefined) this.#remove(least);
  }

  /** Makes room for the entries of a row that is not counted now. */
  #boundEntries(entries: number): void {
    while (this.#entries + entries > MAX_ENTRIES) {
      const least = this.#logsByShare.first;
      if (least === undefined) break;
      this.#remove(least);
    }
  }
}

function isLessUsed({ rank: a }: Row, { rank: b }: Row): boolean {
  return a.share < b.share || (a.share === b.share && a.expires < b.expires);
}
