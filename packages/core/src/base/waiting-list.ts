/** A place in a list; none of the list's when it has no neighbours. */
export interface Waiting {
  before: Waiting | undefined;
  after: Waiting | undefined;
}

/**
 * The calls that wait, in order of arrival. Leaving is as cheap as coming, and a call that left keeps no other alive: a `Set` that is used
 * as a queue keeps, in each table that it has outgrown, all its entries of that time, until the next major collection.
 */
export class WaitingList<Item extends Waiting> {
  /** Stands before the first and after the last. */
  readonly #end: Waiting = { before: undefined, after: undefined };
  /** Written by the list alone. */
  size = 0;

  constructor() {
    this.#end.before = this.#end;
    this.#end.after = this.#end;
  }

  get first(): Item | undefined {
    const { after } = this.#end;
    return after === this.#end ? undefined : (after as Item);
  }

  /** All that wait now, in order. */
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

  /** False when it was not there. */
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
