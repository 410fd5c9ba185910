/** Something a heap can hold; `slots[lane]` is where in heap number `lane` it stands. */
export interface HeapItem {
  readonly slots: [number, number, number];
}

/** A binary heap that can move and remove any of its items: all in O(log n). */
export class IndexedHeap<Item extends HeapItem> {
  readonly #items: Item[] = [];
  readonly #lane: 0 | 1 | 2;
  readonly #isBefore: (a: Item, b: Item) => boolean;

  constructor(lane: 0 | 1 | 2, isBefore: (a: Item, b: Item) => boolean) {
    this.#lane = lane;
    this.#isBefore = isBefore;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  add(item: Item): void {
    this.#place(item, this.#items.length);
    this.#rise(item);
  }

  /** Puts an item where it belongs after what it is ordered by has changed. */
  update(item: Item): void {
    this.#rise(item);
    this.#sink(item);
  }

  remove(item: Item): void {
    const last = this.#items.pop() as Item;
    if (last === item) return;
    this.#place(last, item.slots[this.#lane]);
    this.update(last);
  }

  #place(item: Item, slot: number): void {
    this.#items[slot] = item;
    item.slots[this.#lane] = slot;
  }

  #rise(item: Item): void {
    let slot = item.slots[this.#lane];
    while (slot > 0) {
      const parentSlot = (slot - 1) >> 1;
      const parent = this.#items[parentSlot] as Item;
      if (!this.#isBefore(item, parent)) break;
      this.#place(parent, slot);
      slot = parentSlot;
    }
    this.#place(item, slot);
  }

  #sink(item: Item): void {
    let slot = item.slots[this.#lane];
    for (;;) {
      const left = this.#items[slot * 2 + 1];
      if (left === undefined) break;
      const right = this.#items[slot * 2 + 2];
      const child = right !== undefined && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, item)) break;
      const childSlot = child.slots[this.#lane];
      this.#place(child, slot);
      slot = childSlot;
    }
    this.#place(item, slot);
  }
}
