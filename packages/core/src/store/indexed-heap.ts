/** Four children per parent: half as deep as with two, and the ranks to compare are neighbours in memory. */
const CHILDREN = 4;

/** From this share of all items on, sorting everything is cheaper than moving each item. */
const SORT_SHARE = 1 / 32;

/** The current ranks of items. An item comes before those with a greater major rank and, among equals, a greater minor rank. */
export interface Ranks {
  major(item: number): number;
  /** Missing if items have a major rank only. */
  readonly minor?: (item: number) => number;
}

/**
 * A heap of whole numbers below 2^32, whose ranks are stored elsewhere. An item whose rank grows is not moved until it comes first,
 * and the heap need not be updated. Until then it keeps its earlier, lower rank in the heap, so it hides no other item. Growing costs
 * nothing, any other change O(log n). A query for the first item moves those that have grown, at most a few nanoseconds for each
 * item in the heap. Takes 16 bytes for each item, 24 with minor ranks.
 */
export class IndexedHeap {
  readonly #ranks: Ranks;
  #size = 0;
  // By position in the heap: an item, and the rank under which it stands.
  #items = new Uint32Array(CHILDREN);
  #majors = new Float64Array(CHILDREN);
  #minors: Float64Array | undefined;
  // By item: its position.
  #positions = new Uint32Array(CHILDREN);

  constructor(ranks: Ranks) {
    this.#ranks = ranks;
    if (ranks.minor !== undefined) this.#minors = new Float64Array(CHILDREN);
  }

  get first(): number | undefined {
    return this.firstUpTo(Number.POSITIVE_INFINITY);
  }

  /** The first item, if its major rank is at most `max`. */
  firstUpTo(max: number): number | undefined {
    let stale = 0;
    while (this.#size > 0 && (this.#majors[0] as number) <= max) {
      const item = this.#items[0] as number;
      const major = this.#ranks.major(item);
      const minor = this.#minorOf(item);
      if (this.#majors[0] === major && this.#minorAt(0) === minor) return item;
      stale += 1;
      if (stale > this.#size * SORT_SHARE) this.#heapify();
      else this.#siftDown(item, major, minor, 0);
    }
    return undefined;
  }

  add(item: number): void {
    if (this.#size === this.#items.length) this.#enlarge(2 * this.#size);
    if (item >= this.#positions.length) {
      this.#positions = enlarged(Uint32Array, this.#positions, Math.max(item + 1, 2 * item));
    }
    this.#size += 1;
    this.#siftUp(item, this.#ranks.major(item), this.#minorOf(item), this.#size - 1);
  }

  /** Moves an item whose rank may be lower than it was. */
  update(item: number): void {
    const position = this.#positions[item] as number;
    const major = this.#ranks.major(item);
    const minor = this.#minorOf(item);
    if (isBefore(major, minor, this.#majors[position] as number, this.#minorAt(position))) {
      this.#siftUp(item, major, minor, position);
    }
  }

  remove(item: number): void {
    this.#size -= 1;
    const last = this.#items[this.#size] as number;
    if (last === item) return;
    const major = this.#majors[this.#size] as number;
    const minor = this.#minorAt(this.#size);
    const position = this.#positions[item] as number;
    if (this.#siftUp(last, major, minor, position) === position)
      this.#siftDown(last, major, minor, position);
  }

  #minorOf(item: number): number {
    return this.#ranks.minor === undefined ? 0 : this.#ranks.minor(item);
  }

  #minorAt(position: number): number {
    return this.#minors === undefined ? 0 : (this.#minors[position] as number);
  }

  #enlarge(size: number): void {
    this.#items = enlarged(Uint32Array, this.#items, size);
    this.#majors = enlarged(Float64Array, this.#majors, size);
    if (this.#minors !== undefined) this.#minors = enlarged(Float64Array, this.#minors, size);
  }

  #heapify(): void {
    for (let position = this.#size - 1; position >= 0; position -= 1) {
      const item = this.#items[position] as number;
      this.#siftDown(item, this.#ranks.major(item), this.#minorOf(item), position);
    }
  }

  /** Puts an item at a free position or above it. Returns the position. */
  #siftUp(item: number, major: number, minor: number, free: number): number {
    let position = free;
    while (position > 0) {
      const parent = Math.floor((position - 1) / CHILDREN);
      const parentMajor = this.#majors[parent] as number;
      const parentMinor = this.#minorAt(parent);
      if (!isBefore(major, minor, parentMajor, parentMinor)) break;
      this.#put(this.#items[parent] as number, parentMajor, parentMinor, position);
      position = parent;
    }
    this.#put(item, major, minor, position);
    return position;
  }

  /** Puts an item at a free position or below it. */
  #siftDown(item: number, major: number, minor: number, free: number): void {
    const majors = this.#majors;
    let position = free;
    for (;;) {
      const firstChild = position * CHILDREN + 1;
      const end = Math.min(firstChild + CHILDREN, this.#size);
      let least = position;
      let leastMajor = major;
      let leastMinor = minor;
      for (let child = firstChild; child < end; child += 1) {
        const childMajor = majors[child] as number;
        const childMinor = this.#minorAt(child);
        if (!isBefore(childMajor, childMinor, leastMajor, leastMinor)) continue;
        least = child;
        leastMajor = childMajor;
        leastMinor = childMinor;
      }
      if (least === position) break;
      this.#put(this.#items[least] as number, leastMajor, leastMinor, position);
      position = least;
    }
    this.#put(item, major, minor, position);
  }

  #put(item: number, major: number, minor: number, position: number): void {
    this.#items[position] = item;
    this.#majors[position] = major;
    if (this.#minors !== undefined) this.#minors[position] = minor;
    this.#positions[item] = position;
  }
}

function isBefore(major: number, minor: number, otherMajor: number, otherMinor: number): boolean {
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}

function enlarged<Numbers extends Uint32Array | Float64Array>(
  type: new (length: number) => Numbers,
  numbers: Numbers,
  length: number,
): Numbers {
  const copy = new type(length);
  copy.set(numbers);
  return copy;
}
