const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The most columns of a timeline. */
export const MAX_COLUMNS = 240;

/** The possible lengths of a column. Each is a multiple of the previous one, so that columns can be merged. The last one suffices for 230 years. */
const COLUMN_LENGTHS_MS = [
  ...[1, 5, 10, 30].map((seconds) => seconds * SECOND),
  ...[1, 5, 10, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 6, 12].map((hours) => hours * HOUR),
  ...[1, 7, 28, 84, 336, 672].map((days) => days * DAY),
];

/** Several timelines of one log, whose columns get longer with the log. */
export class Timelines {
  readonly #timelines: readonly Uint32Array[];
  /** The time of the first column; undefined before the first request. */
  #from: number | undefined;
  #length = 0;
  #columns = 0;

  constructor(count: number) {
    this.#timelines = Array.from({ length: count }, () => new Uint32Array(MAX_COLUMNS));
  }

  /** Milliseconds of a column. */
  get columnMs(): number {
    return COLUMN_LENGTHS_MS[this.#length] as number;
  }

  /** The column of a time, which must not be earlier than the previous one. Makes columns longer if there would be too many. */
  columnAt(time: number): number {
    this.#from ??= time;
    while (time - this.#from >= this.columnMs * MAX_COLUMNS) this.#widen();
    const column = this.columnOf(time);
    if (column >= this.#columns) this.#columns = column + 1;
    return column;
  }

  /** The column of a time that has been added. */
  columnOf(time: number): number {
    return Math.floor((time - (this.#from ?? 0)) / this.columnMs);
  }

  count(timeline: number, column: number): void {
    const counts = this.#timelines[timeline] as Uint32Array;
    counts[column] = (counts[column] as number) + 1;
  }

  /** The counts of a timeline, up to the last column of all. */
  read(timeline: number): number[] {
    return this.cut(this.#timelines[timeline] as Uint32Array);
  }

  /** Counts by column, up to the last one. */
  cut(counts: Uint32Array): number[] {
    return [...counts.subarray(0, this.#columns)];
  }

  #widen(): void {
    const before = this.columnMs;
    this.#length += 1;
    const joined = this.columnMs / before;
    for (const counts of this.#timelines) {
      for (let column = 0; column < MAX_COLUMNS; column += 1) {
        const count = counts[column] as number;
        counts[column] = 0;
        const into = Math.floor(column / joined);
        counts[into] = (counts[into] as number) + count;
      }
    }
    this.#columns = Math.ceil(this.#columns / joined);
  }
}
