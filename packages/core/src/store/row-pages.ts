/** The numbers of a cell: as many as a counter of one limit takes, so that it is in one or two lines of the processor's cache. */
const CELL = 7;

const PAGE_BITS = 7;

/** A page takes 7 KB, so that a small store takes little, and has 128 cells. */
const CELLS_PER_PAGE = 2 ** PAGE_BITS;

/** The cells of a row of so many numbers. */
export function cellsFor(numbers: number): number {
  return Math.ceil(numbers / CELL);
}

/** The index of a row's first number among the numbers of its page. */
export function offsetOf(row: number): number {
  return (row & (CELLS_PER_PAGE - 1)) * CELL;
}

/**
 * Rows of numbers, in pages, so that a new row never copies the others. A row is a run of cells, and is known by the number of its
 * first one, below 2^32.
 */
export class RowPages {
  readonly #pages: Float64Array[] = [];
  /** The first cell of the last page that no row has had yet, and the end of that page. */
  #unused = 0;
  #pageEnd = 0;
  /** Released rows, by their number of cells. */
  readonly #released: number[][] = [];

  /** The numbers of a row and of others; its own begin at `offsetOf(row)`. */
  numbersOf(row: number): Float64Array {
    return this.#pages[row >>> PAGE_BITS] as Float64Array;
  }

  /** Allocates a row, whose numbers may be anything. One that is longer than a page has a longer page of its own. */
  allocate(cells: number): number {
    const released = this.#released[cells]?.pop();
    if (released !== undefined) return released;
    if (cells > CELLS_PER_PAGE) return this.#addPage(cells);
    if (this.#unused + cells > this.#pageEnd) {
      this.#unused = this.#addPage(CELLS_PER_PAGE);
      this.#pageEnd = this.#unused + CELLS_PER_PAGE;
    }
    const row = this.#unused;
    this.#unused += cells;
    return row;
  }

  release(row: number, cells: number): void {
    this.#released[cells] ??= [];
    this.#released[cells].push(row);
  }

  #addPage(cells: number): number {
    return (this.#pages.push(new Float64Array(cells * CELL)) - 1) * CELLS_PER_PAGE;
  }
}
