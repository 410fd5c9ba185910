/** The links of an item in a list; undefined while it is not in a list. */
export interface ListNode {
  previous: ListNode | undefined;
  next: ListNode | undefined;
}

/**
 * A doubly linked list, for queues of waiting calls. Insertion and removal are O(1), and a removed item keeps no other
 * alive. A `Set` as a queue does: each table that it has outgrown holds its former entries until the next major collection.
 */
export class LinkedList<Item extends ListNode> {
  /** Comes before the first and after the last. */
  readonly #end: ListNode = { previous: undefined, next: undefined };
  /** Written only by the list. */
  size = 0;

  constructor() {
    this.#end.previous = this.#end;
    this.#end.next = this.#end;
  }

  get first(): Item | undefined {
    const { next } = this.#end;
    return next === this.#end ? undefined : (next as Item);
  }

  /** All waiting items, in order. */
  get items(): Item[] {
    const items: Item[] = [];
    for (let item = this.#end.next; item !== this.#end; item = (item as Item).next) {
      items.push(item as Item);
    }
    return items;
  }

  /** How many items in front match, at most `max`. */
  countFirst(max: number, matches: (item: Item) => boolean): number {
    let count = 0;
    for (
      let item = this.#end.next;
      count < max && item !== this.#end && matches(item as Item);
      item = (item as Item).next
    ) {
      count += 1;
    }
    return count;
  }

  add(item: Item): void {
    const last = this.#end.previous as ListNode;
    item.previous = last;
    item.next = this.#end;
    last.next = item;
    this.#end.previous = item;
    this.size += 1;
  }

  /** False if it was not in the list. */
  delete(item: Item): boolean {
    const { previous, next } = item;
    if (previous === undefined || next === undefined) return false;
    previous.next = next;
    next.previous = previous;
    item.previous = undefined;
    item.next = undefined;
    this.size -= 1;
    return true;
  }
}
