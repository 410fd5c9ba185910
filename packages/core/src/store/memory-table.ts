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
  readonly #byShare = new IndexedHeap<Row>(
    0,
    ({ rank: a }, { rank: b }) =>
      a.share < b.share || (a.share === b.share && a.expires < b.expires),
  );
  readonly #byExpiry = new IndexedHeap<Row>(1, (a, b) => a.rank.expires < b.rank.expires);
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
      this.#add({ key, value, rank, slots: [0, 0] });
    } else {
      this.#entries += rank.entries - row.rank.entries;
      row.value = value;
      row.rank = rank;
      this.#byShare.update(row);
      this.#byExpiry.update(row);
    }
    this.#boundEntries(key);
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
    this.#entries += row.rank.entries;
  }

  #remove(row: Row): void {
    this.#rows.delete(row.key);
    this.#byShare.remove(row);
    this.#byExpiry.remove(row);
    this.#entries -= row.rank.entries;
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

  #boundEntries(kept: string): void {
    while (this.#entries > MAX_ENTRIES && this.#rows.size > 1) {
      // The row just written is the one that must stay: set it aside while the least of the others goes.
      const row = this.#rows.get(kept) as Row;
      this.#remove(row);
      this.#remove(this.#byShare.first as Row);
      this.#add(row);
    }
  }
}
