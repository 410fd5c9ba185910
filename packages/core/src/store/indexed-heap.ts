/** Four children per parent: half as deep as with two, and the ranks to compare are neighbours in memory. */
const CHILDREN = 4;

/** From this share of all items on, sorting everything is cheaper than moving each item. */
const SORT_SHARE = 1 / 32;

/**
 * A heap of small whole numbers. The first item is the one with the least major rank and, among equals, with the least minor
 * rank. An item whose rank grows is not moved until it comes first. Until then it keeps its earlier, lower rank in the heap,
 * so it hides no other item. Growing costs O(1), any other change O(log n). A query for the first item moves those that have
 * grown, at most a few nanoseconds for each item in the heap.
 */
export class IndexedHeap {
  // By position in the heap: an item, and the rank under which it stands.
  readonly #items: number[] = [];
  readonly #majors: number[] = [];
  readonly #minors: number[] = [];
  // By item: its position, and its rank.
  readonly #positions: number[] = [];
  readonly #majorOf: number[] = [];
  readonly #minorOf: number[] = [];

  get first(): number | undefined {
    return this.firstUpTo(Number.POSITIVE_INFINITY);
  }

  /** The first item, if its major rank is at most `max`. */
  firstUpTo(max: number): number | undefined {
    let stale = 0;
    while (this.#items.length > 0 && (this.#majors[0] as number) <= max) {
      const item = this.#items[0] as number;
      const major = this.#majorOf[item] as number;
      const minor = this.#minorOf[item] as number;
      if (this.#majors[0] === major && this.#minors[0] === minor) return item;
      stale += 1;
      if (stale > this.#items.length * SORT_SHARE) this.#heapify();
      else this.#siftDown(item, major, minor, 0);
    }
    return undefined;
  }

  /** The major rank of an item. */
  majorRankOf(item: number): number {
    return this.#majorOf[item] as number;
  }

  add(item: number, major: number, minor: number): void {
    this.#majorOf[item] = major;
    this.#minorOf[item] = minor;
    this.#siftUp(item, major, minor, this.#items.length);
  }

  /** Gives an item another rank. */
  update(item: number, major: number, minor: number): void {
    const position = this.#positions[item] as number;
    this.#majorOf[item] = major;
    this.#minorOf[item] = minor;
    const current = this.#majors[position] as number;
    if (major < current || (major === current && minor < (this.#minors[position] as number))) {
      this.#siftUp(item, major, minor, position);
    }
  }

  remove(item: number): void {
    const last = this.#items.pop() as number;
    const major = this.#majors.pop() as number;
    const minor = this.#minors.pop() as number;
    if (last === item) return;
    const position = this.#positions[item] as number;
    if (this.#siftUp(last, major, minor, position) === position)
      this.#siftDown(last, major, minor, position);
  }

  #heapify(): void {
    for (let position = this.#items.length - 1; position >= 0; position -= 1) {
      const item = this.#items[position] as number;
      this.#siftDown(item, this.#majorOf[item] as number, this.#minorOf[item] as number, position);
    }
  }

  /** Puts an item at a free position or above it. Returns the position. */
  #siftUp(item: number, major: number, minor: number, free: number): number {
    let position = free;
    while (position > 0) {
      const parent = Math.floor((position - 1) / CHILDREN);
      const parentMajor = this.#majors[parent] as number;
      const parentMinor = this.#minors[parent] as number;
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
    const minors = this.#minors;
    let position = free;
    for (;;) {
      const firstChild = position * CHILDREN + 1;
      const end = Math.min(firstChild + CHILDREN, majors.length);
      let least = position;
      let leastMajor = major;
      let leastMinor = minor;
      for (let child = firstChild; child < end; child += 1) {
        const childMajor = majors[child] as number;
        const childMinor = minors[child] as number;
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
    this.#minors[position] = minor;
    this.#positions[item] = position;
  }
}

function isBefore(major: number, minor: number, otherMajor: number, otherMinor: number): boolean {
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}
