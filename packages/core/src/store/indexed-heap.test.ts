import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import type { HeapItem } from "./indexed-heap.ts";
import { IndexedHeap } from "./indexed-heap.ts";

interface Weight extends HeapItem {
  weight: number;
}

const steps = fc.array(
  fc.tuple(fc.constantFrom("add", "add", "update", "remove", "remove first"), fc.nat(), fc.nat(20)),
  { minLength: 30, maxLength: 200 },
);

test.prop([steps, fc.constantFrom(0 as const, 1 as const, 2 as const)], { numRuns: 500 })(
  "the first is the least, whatever was added, changed and removed",
  (moves, lane) => {
    const heap = new IndexedHeap<Weight>(lane, (a, b) => a.weight < b.weight);
    const model: Weight[] = [];
    for (const [move, which, weight] of moves) {
      const item = model[which % Math.max(1, model.length)];
      if (move === "add" || item === undefined) {
        const added: Weight = { weight, slots: [-1, -1, -1] };
        heap.add(added);
        model.push(added);
      } else if (move === "update") {
        item.weight = weight;
        heap.update(item);
      } else {
        const removed = move === "remove first" ? (heap.first as Weight) : item;
        heap.remove(removed);
        model.splice(model.indexOf(removed), 1);
      }
      expect(heap.first?.weight).toBe(
        model.length === 0 ? undefined : Math.min(...model.map((other) => other.weight)),
      );
    }
    // What is left comes out in order: an item that stands in the wrong place shows now.
    const drained: number[] = [];
    for (let first = heap.first; first !== undefined; first = heap.first) {
      drained.push(first.weight);
      heap.remove(first);
    }
    expect(drained).toEqual(model.map((item) => item.weight).sort((a, b) => a - b));
  },
);

test("an item stands in two heaps at once, and each keeps its own order", () => {
  interface Row extends HeapItem {
    readonly a: number;
    readonly b: number;
  }
  const byA = new IndexedHeap<Row>(0, (x, y) => x.a < y.a);
  const byB = new IndexedHeap<Row>(2, (x, y) => x.b < y.b);
  const rows = [3, 1, 4, 1.5, 9, 2, 6].map((a): Row => ({ a, b: -a, slots: [0, 0, 0] }));
  for (const row of rows) {
    byA.add(row);
    byB.add(row);
  }
  const ascending: number[] = [];
  while (byA.first !== undefined) {
    const row = byA.first;
    ascending.push(row.a);
    byA.remove(row);
    byB.remove(row);
    expect(byB.first?.a).toBe(byA.first === undefined ? undefined : 9);
    if (row.a === 6) break;
  }
  expect(ascending).toEqual([1, 1.5, 2, 3, 4, 6]);
});

test("takes a heap of 100,000 apart in order", () => {
  const heap = new IndexedHeap<Weight>(0, (a, b) => a.weight < b.weight);
  let seed = 1;
  for (let i = 0; i < 100_000; i += 1) {
    seed = (seed * 48_271) % 2_147_483_647;
    heap.add({ weight: seed, slots: [0, 0, 0] });
  }
  let before = 0;
  let taken = 0;
  for (let first = heap.first; first !== undefined; first = heap.first) {
    if (first.weight < before) throw new Error(`${first.weight} after ${before}`);
    before = first.weight;
    heap.remove(first);
    taken += 1;
  }
  expect(taken).toBe(100_000);
});
