/** Four children per parent: half as deep as with two, and the ranks to compare are neighbours in memory. */
const CHILDREN = 4;

/** From this share of all items on, sorting everything is cheaper than moving each item. */
const MANY = 1 / 32;

/**
 * A heap of small whole numbers. The first item is the one with the least major rank and, among equals, with the least minor
 * rank.
 *
 * An item whose rank grows is not moved until it comes first. Until then it stands under its earlier rank, which is too low, so
 * it hides no other item. Growing costs O(1), anything else O(log n); a query for the first item pays for those that have
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

  /** The first, when its major rank is no greater than this. */
  firstUpTo(most: number): number | undefined {
    let grown = 0;
    while (this.#items.length > 0 && (this.#majors[0] as number) <= most) {
      const item = this.#items[0] as number;
      const major = this.#majorOf[item] as number;
      const minor = this.#minorOf[item] as number;
      if (this.#majors[0] === major && this.#minors[0] === minor) return item;
      grown += 1;
      if (grown > this.#items.length * MANY) this.#putInOrder();
      else this.#sink(item, major, minor, 0);
    }
    return undefined;
  }

  /** The major rank of an item. */
  rankOf(item: number): number {
    return this.#majorOf[item] as number;
  }

  add(item: number, major: number, minor: number): void {
    this.#majorOf[item] = major;
    this.#minorOf[item] = minor;
    this.#rise(item, major, minor, this.#items.length);
  }

  /** Gives an item another rank. */
  update(item: number, major: number, minor: number): void {
    const place = this.#positions[item] as number;
    this.#majorOf[item] = major;
    this.#minorOf[item] = minor;
    const under = this.#majors[place] as number;
    if (major < under || (major === under && minor < (this.#minors[place] as number))) {
      this.#rise(item, major, minor, place);
    }
  }

  remove(item: number): void {
    const last = this.#items.pop() as number;
    const major = this.#majors.pop() as number;
    const minor = this.#minors.pop() as number;
    if (last === item) return;
    const place = this.#positions[item] as number;
    if (this.#rise(last, major, minor, place) === place) this.#sink(last, major, minor, place);
  }

  #putInOrder(): void {
    for (let place = this.#items.length - 1; place >= 0; place -= 1) {
      const item = this.#items[place] as number;
      this.#sink(item, this.#majorOf[item] as number, this.#minorOf[item] as number, place);
    }
  }

  /** Puts an item in a free position, or above it; returns where. */
  #rise(item: number, major: number, minor: number, free: number): number {
    let place = free;
    while (place > 0) {
      const parent = Math.floor((place - 1) / CHILDREN);
      const parentMajor = this.#majors[parent] as number;
      const parentMinor = this.#minors[parent] as number;
      if (!isBefore(major, minor, parentMajor, parentMinor)) break;
      this.#put(this.#items[parent] as number, parentMajor, parentMinor, place);
      place = parent;
    }
    this.#put(item, major, minor, place);
    return place;
  }

  /** Puts an item in a free position, or below it. */
  #sink(item: number, major: number, minor: number, free: number): void {
    const majors = this.#majors;
    const minors = this.#minors;
    let place = free;
    for (;;) {
      const eldest = place * CHILDREN + 1;
      const end = Math.min(eldest + CHILDREN, majors.length);
      let least = place;
      let leastMajor = major;
      let leastMinor = minor;
      for (let child = eldest; child < end; child += 1) {
        const childMajor = majors[child] as number;
        const childMinor = minors[child] as number;
        if (!isBefore(childMajor, childMinor, leastMajor, leastMinor)) continue;
        least = child;
        leastMajor = childMajor;
        leastMinor = childMinor;
      }
      if (least === place) break;
      this.#put(this.#items[least] as number, leastMajor, leastMinor, place);
      place = least;
    }
    this.#put(item, major, minor, place);
  }

  #put(item: number, major: number, minor: number, place: number): void {
    this.#items[place] = item;
    this.#majors[place] = major;
    this.#minors[place] = minor;
    this.#positions[item] = place;
  }
}

function isBefore(major: number, minor: number, otherMajor: number, otherMinor: number): boolean {
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}
