import { IndexedHeap } from "./indexed-heap.ts";
import { cellsFor, offsetOf, RowPages } from "./row-pages.ts";

/** How much an eviction of the value would lose. */
export interface EvictionRank {
  /** The used share of the most used limit, 0 to 1. */
  readonly usedShare: number;
  /** Microseconds since the epoch at which the value is equivalent to an absent one. */
  readonly expiresAt: number;
  /** Log entries in the value. */
  readonly logEntries: number;
}

/** How the values of a keyspace are stored: as numbers, with an object for what is not a number. */
export interface RowFormat<Value extends object> {
  /** How many numbers a value takes: the same for all formats of a keyspace. */
  readonly width: number;
  /** Reads a value. It may be the same object each time, so it is valid until the next value is read in this format. */
  read(numbers: Float64Array, at: number, expiresAt: number, remainder: object | undefined): Value;
  /** Writes the numbers of a value. Returns the remainder; undefined if the numbers are all. */
  write(value: Value, numbers: Float64Array, at: number): object | undefined;
}

/** The format of values that are stored as they are. */
export const OBJECT_FORMAT: RowFormat<object> = {
  width: 0,
  read: (_, __, ___, value) => value as object,
  write: (value) => value,
};

/** The rows of one format. */
interface Keyspace {
  readonly name: string;
  readonly rows: Map<string, number>;
  /** The cells of a row. */
  readonly cells: number;
}

// In a row: when it expires, its used share, and the numbers of its value.
const EXPIRES_AT = 0;
const USED_SHARE = 1;
const HEADER = 2;

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
  readonly #keyspaces = new Map<string, Keyspace>();
  #size = 0;
  #pages = new RowPages();
  // By row.
  readonly #keyspaceOf: Keyspace[] = [];
  readonly #keyOf: string[] = [];
  /** The remainders of rows whose numbers are not all of their value. */
  readonly #remainders = new Map<number, object>();
  /** Rows with log entries: only evicting these makes room for entries. */
  readonly #entriesOf = new Map<number, number>();
  #byExpiry = this.#heapByExpiry();
  // Filled when they are needed: most tables never are full.
  #byShare: IndexedHeap | undefined;
  #logsByShare: IndexedHeap | undefined;
  // The keyspace and the row found last, which the next call is usually about. Any removal forgets them.
  #foundKeyspace: Keyspace | undefined;
  #foundKey = "";
  #foundRow: number | undefined;
  /** Log entries in all values together. */
  logEntries = 0;
  /** Values evicted before they expired. */
  evictions = 0;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#size;
  }

  get<Value extends object>(
    keyspace: string,
    key: string,
    format: RowFormat<Value>,
  ): Value | undefined {
    const row = this.#find(keyspace, key);
    if (row === undefined) return undefined;
    const numbers = this.#pages.numbersOf(row);
    const at = offsetOf(row);
    const remainder = this.#remainders.size === 0 ? undefined : this.#remainders.get(row);
    return format.read(numbers, at + HEADER, numbers[at + EXPIRES_AT] as number, remainder);
  }

  set<Value extends object>(
    keyspace: string,
    key: string,
    format: RowFormat<Value>,
    value: Value,
    rank: EvictionRank,
    now: number,
  ): void {
    const isFound = key === this.#foundKey && keyspace === this.#foundKeyspace?.name;
    const row =
      isFound && this.#foundRow !== undefined ? this.#foundRow : this.#find(keyspace, key);
    if (row === undefined) this.#add(keyspace, key, format, value, rank, now);
    else this.#update(row, format, value, rank, now);
  }

  /** Writes the numbers of the value read last, which changes neither its remainder nor its rank. */
  rewrite<Value extends object>(format: RowFormat<Value>, value: Value): void {
    const row = this.#foundRow;
    if (row !== undefined) format.write(value, this.#pages.numbersOf(row), offsetOf(row) + HEADER);
  }

  delete(keyspace: string, key: string): boolean {
    const row = this.#find(keyspace, key);
    if (row === undefined) return false;
    this.#remove(row);
    return true;
  }

  clear(): void {
    this.#keyspaces.clear();
    this.#size = 0;
    this.#pages = new RowPages();
    this.#keyspaceOf.length = 0;
    this.#keyOf.length = 0;
    this.#remainders.clear();
    this.#entriesOf.clear();
    this.#byExpiry = this.#heapByExpiry();
    this.#byShare = undefined;
    this.#logsByShare = undefined;
    this.#forgetFound();
    this.logEntries = 0;
  }

  #find(name: string, key: string): number | undefined {
    if (this.#foundKeyspace?.name !== name) this.#foundKeyspace = this.#keyspaces.get(name);
    const row = this.#foundKeyspace?.rows.get(key);
    this.#foundKey = key;
    this.#foundRow = row;
    return row;
  }

  #forgetFound(): void {
    this.#foundKeyspace = undefined;
    this.#foundKey = "";
    this.#foundRow = undefined;
  }

  #expiresAt(row: number): number {
    return this.#pages.numbersOf(row)[offsetOf(row) + EXPIRES_AT] as number;
  }

  #usedShare(row: number): number {
    return this.#pages.numbersOf(row)[offsetOf(row) + USED_SHARE] as number;
  }

  #heapByExpiry(): IndexedHeap {
    return new IndexedHeap({ major: (row) => this.#expiresAt(row) });
  }

  #heapByShare(rows: Iterable<number>): IndexedHeap {
    const heap = new IndexedHeap({
      major: (row) => this.#usedShare(row),
      minor: (row) => this.#expiresAt(row),
    });
    for (const row of rows) heap.add(row);
    return heap;
  }

  #add<Value extends object>(
    name: string,
    key: string,
    format: RowFormat<Value>,
    value: Value,
    { usedShare, expiresAt, logEntries }: EvictionRank,
    now: number,
  ): void {
    this.#makeRoom(now);
    this.#makeRoomForEntries(logEntries, now);
    const cells = cellsFor(HEADER + format.width);
    let keyspace = this.#keyspaces.get(name);
    if (keyspace === undefined) {
      keyspace = { name, rows: new Map(), cells };
      this.#keyspaces.set(name, keyspace);
    }
    if (keyspace.cells !== cells) throw new Error(`rows of ${name} have another width`);
    const row = this.#pages.allocate(cells);
    const ownKey = withoutParent(key);
    keyspace.rows.set(ownKey, row);
    this.#size += 1;
    this.#keyspaceOf[row] = keyspace;
    this.#keyOf[row] = ownKey;
    const numbers = this.#pages.numbersOf(row);
    const at = offsetOf(row);
    numbers[at + EXPIRES_AT] = expiresAt;
    numbers[at + USED_SHARE] = usedShare;
    const remainder = format.write(value, numbers, at + HEADER);
    if (remainder !== undefined) this.#remainders.set(row, remainder);
    this.#byExpiry.add(row);
    this.#byShare?.add(row);
    if (logEntries > 0) this.#addEntries(row, logEntries);
  }

  #update<Value extends object>(
    row: number,
    format: RowFormat<Value>,
    value: Value,
    { usedShare, expiresAt, logEntries }: EvictionRank,
    now: number,
  ): void {
    const numbers = this.#pages.numbersOf(row);
    const at = offsetOf(row);
    const earlier = numbers[at + EXPIRES_AT] as number;
    numbers[at + EXPIRES_AT] = expiresAt;
    numbers[at + USED_SHARE] = usedShare;
    const remainder = format.write(value, numbers, at + HEADER);
    if (remainder !== undefined) this.#remainders.set(row, remainder);
    else if (this.#remainders.size > 0) this.#remainders.delete(row);
    if (expiresAt < earlier) this.#byExpiry.update(row);
    this.#byShare?.update(row);
    if (this.#entriesOf.size > 0) this.#subtractEntries(row);
    if (logEntries === 0) return;
    this.#makeRoomForEntries(logEntries, now);
    this.#addEntries(row, logEntries);
  }

  #remove(row: number): void {
    const { name, rows, cells } = this.#keyspaceOf[row] as Keyspace;
    rows.delete(this.#keyOf[row] as string);
    if (rows.size === 0) this.#keyspaces.delete(name);
    this.#size -= 1;
    this.#keyOf[row] = "";
    this.#byExpiry.remove(row);
    this.#byShare?.remove(row);
    this.#remainders.delete(row);
    this.#subtractEntries(row);
    this.#pages.release(row, cells);
    this.#forgetFound();
  }

  #addEntries(row: number, entries: number): void {
    this.logEntries += entries;
    this.#entriesOf.set(row, entries);
    this.#logsByShare?.add(row);
  }

  #subtractEntries(row: number): void {
    const entries = this.#entriesOf.get(row);
    if (entries === undefined) return;
    this.logEntries -= entries;
    this.#entriesOf.delete(row);
    this.#logsByShare?.remove(row);
  }

  #makeRoom(now: number): void {
    for (let swept = 0; swept < SWEEPS_PER_ADDITION; swept += 1) {
      if (!this.#removeRow(this.#byExpiry.firstUpTo(now - EXPIRY_GRACE_MICROS))) break;
    }
    if (this.#size < this.#maxKeys || this.#removeRow(this.#byExpiry.firstUpTo(now))) return;
    this.#byShare ??= this.#heapByShare(this.#rows());
    this.#evict(this.#byShare.first, now);
  }

  /** Makes room for log entries that are not included in `logEntries` yet. */
  #makeRoomForEntries(entries: number, now: number): void {
    while (this.logEntries + entries > MAX_LOG_ENTRIES) {
      this.#logsByShare ??= this.#heapByShare(this.#entriesOf.keys());
      if (!this.#evict(this.#logsByShare.first, now)) return;
    }
  }

  *#rows(): Iterable<number> {
    for (const { rows } of this.#keyspaces.values()) yield* rows.values();
  }

  /** Removes a row; counts an eviction if it has not expired. */
  #evict(row: number | undefined, now: number): boolean {
    if (row !== undefined && this.#expiresAt(row) > now) this.evictions += 1;
    return this.#removeRow(row);
  }

  /** Removes a row; false if there is none. */
  #removeRow(row: number | undefined): boolean {
    if (row === undefined) return false;
    this.#remove(row);
    return true;
  }
}

/** V8 copies shorter strings where it refers from a longer one to a part of another string. */
const MIN_SLICE = 13;

/** A copy of a text that may be a part of a much larger one, which would stay in memory with it. */
function withoutParent(text: string): string {
  if (text.length < MIN_SLICE) return text;
  const copy = Buffer.from(text, "latin1").toString("latin1");
  return copy === text ? copy : Buffer.from(text, "utf16le").toString("utf16le");
}
