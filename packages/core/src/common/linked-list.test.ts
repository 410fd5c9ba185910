import { describe, expect, test } from "vitest";
import type { ListNode } from "./linked-list.ts";
import { LinkedList } from "./linked-list.ts";

interface Named extends ListNode {
  readonly name: string;
}

function named(name: string): Named {
  return { name, previous: undefined, next: undefined };
}

/** Removes the first item until the list is empty. */
function empty(list: LinkedList<Named>): string[] {
  const names: string[] = [];
  for (let { first } = list; first !== undefined; first = list.first) {
    names.push(first.name);
    list.delete(first);
  }
  return names;
}

describe("a linked list", () => {
  test("an empty list has no first item", () => {
    expect(new LinkedList<Named>()).toMatchObject({ size: 0, first: undefined });
  });

  test.each([[[0]], [[2]], [[4]], [[1, 3]], [[0, 1, 2, 3, 4]], [[4, 3, 2, 1, 0]], [[2, 0, 4]]])(
    "the other items stay in order when %j are removed",
    (leaving) => {
      const list = new LinkedList<Named>();
      const items = ["a", "b", "c", "d", "e"].map(named);
      for (const item of items) list.add(item);
      for (const i of leaving) expect(list.delete(items[i] as Named)).toBe(true);
      expect(list.size).toBe(items.length - leaving.length);
      expect(list.items).toEqual(items.filter((_, i) => !leaving.includes(i)));
      const others = items.filter((_, i) => !leaving.includes(i)).map(({ name }) => name);
      expect(empty(list)).toEqual(others);
      expect(list.size).toBe(0);
    },
  );

  test("an item is removed only once, and can be added again at the end", () => {
    const list = new LinkedList<Named>();
    const [a, b] = [named("a"), named("b")];
    list.add(a);
    list.add(b);
    expect([list.delete(a), list.delete(a), list.delete(named("c"))]).toEqual([true, false, false]);
    list.add(a);
    expect(empty(list)).toEqual(["b", "a"]);
  });

  test("removed items are collected, and keep no later item alive", () => {
    const list = new LinkedList<Named>();
    const items = ["a", "b", "c"].map(named);
    for (const item of items) list.add(item);
    for (const item of items) list.delete(item);
    expect(items.map(({ previous, next }) => [previous, next])).toEqual(
      new Array(3).fill([undefined, undefined]),
    );
    expect(list.first).toBeUndefined();
  });
});
