/** Items that are alike and follow each other. */
export interface Run<Item> {
  readonly first: Item;
  readonly count: number;
}

/** Items in their order, as runs of those that are alike: what is equal goes to the server once, with how often. */
export function inRuns<Item>(
  items: readonly Item[],
  isAlike: (one: Item, other: Item) => boolean,
): Run<Item>[] {
  const runs: Run<Item>[] = [];
  for (let from = 0; from < items.length; ) {
    const first = items[from] as Item;
    let to = from + 1;
    while (to < items.length && isAlike(first, items[to] as Item)) to += 1;
    runs.push({ first, count: to - from });
    from = to;
  }
  return runs;
}
