/** An item's links in a list; an item without neighbours is not in the list. */
export interface Waiting {
  before: Waiting | undefined;
  after: Waiting | undefined;
}

/**
 * Waiting calls, in order of arrival. Removal is as cheap as insertion, and a removed call keeps no other alive. A `Set` used
 * as a queue does: each table that it has outgrown holds all its former entries until the next major collection.
 */
export class WaitingList<Item extends Waiting> {
  /** Comes before the first and after the last. */
  readonly #end: Waiting = { before: undefined, after: undefined };
  /** Written only by the list. */
  size = 0;

  constructor() {
    this.#end.before = this.#end;
    this.#end.after = this.#end;
  }

  get first(): Item | undefined {
    const { after } = this.#end;
    return after === this.#end ? undefined : (after as Item);
  }

  /** All waiting items, in order. */
  get all(): Item[] {
    const items: Item[] = [];
    for (let item = this.#end.after; item !== this.#end; item = (item as Item).after) {
      items.push(item as Item);
    }
    return items;
  }

  add(item: Item): void {
    const last = this.#end.before as Waiting;
    item.before = last;
    item.after = this.#end;
    last.after = item;
    this.#end.before = item;
    this.size += 1;
  }

  /** False if it was not in the list. */
  delete(item: Item): boolean {
    const { before, after } = item;
    if (before === undefined || after === undefined) return false;
    before.after = after;
    after.before = before;
    item.before = undefined;
    item.after = undefined;
    this.size -= 1;
    return true;
  }
}
