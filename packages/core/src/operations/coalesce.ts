/** Consecutive equal items. */
export interface Run<Item> {
  readonly first: Item;
  readonly count: number;
}

/** Groups consecutive equal items, in their order: the server receives equal calls once, with their number. */
export function coalesce<Item>(
  items: readonly Item[],
  isEqual: (one: Item, other: Item) => boolean,
): Run<Item>[] {
  const runs: Run<Item>[] = [];
  for (let from = 0; from < items.length; ) {
    const first = items[from] as Item;
    let to = from + 1;
    while (to < items.length && isEqual(first, items[to] as Item)) to += 1;
    runs.push({ first, count: to - from });
    from = to;
  }
  return runs;
}
