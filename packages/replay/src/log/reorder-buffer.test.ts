import { expect, test } from "vitest";
import { ReorderBuffer } from "./reorder-buffer.ts";

const START = Date.UTC(2026, 2, 3);

/** Sorts requests at these seconds, each with its index as its path. */
function order(seconds: readonly number[], maxWaiting?: number) {
  const order = new ReorderBuffer(Number.POSITIVE_INFINITY, maxWaiting);
  const gone: string[] = [];
  const take = () => {
    for (const { time, path } of order.take()) gone.push(`${path}@${(time - START) / 1_000}`);
  };
  seconds.forEach((second, i) => {
    const time = START + second * 1_000;
    order.add({ time, client: "192.0.2.1", method: "GET", path: String(i) });
    take();
  });
  order.end();
  take();
  return { gone, reordered: order.reordered, late: order.late };
}

test("requests are sorted by time, and equal times keep their order", () => {
  expect(order([5, 3, 5, 4, 5])).toEqual({
    gone: ["1@3", "3@4", "0@5", "2@5", "4@5"],
    reordered: 2,
    late: 0,
  });
});

test("requests within one second are sorted too", () => {
  expect(order([5.5, 5.25, 5.5, 5]).gone).toEqual(["3@5", "1@5.25", "0@5.5", "2@5.5"]);
});

test("a request is sorted up to 120 seconds late, and later gets the time of the previous one", () => {
  expect(order([1_000, 1_120, 1_000, 2_000, 1_880, 1_119])).toEqual({
    gone: ["0@1000", "2@1000", "1@1120", "5@1120", "4@1880", "3@2000"],
    reordered: 2,
    late: 1,
  });
});

test("a request that is later than all released ones is not late", () => {
  expect(order([0, 1_000, 880, 879])).toEqual({
    gone: ["0@0", "3@879", "2@880", "1@1000"],
    reordered: 2,
    late: 0,
  });
});

test("a request of a released second is not late if it is not earlier than the last released one", () => {
  expect(order([0, 0, 0, 0.5, 0.25, 1], 2)).toEqual({
    gone: ["0@0", "1@0", "2@0", "3@0.5", "4@0.5", "5@1"],
    reordered: 0,
    late: 1,
  });
});

test("the buffer holds no more requests than its maximum", () => {
  const seconds = Array.from({ length: 50 }, (_, i) => 50 - i);
  const { gone, late } = order(seconds, 10);
  expect(gone).toHaveLength(50);
  expect(late).toBeGreaterThan(0);
  expect(order(seconds, 50).late).toBe(0);
});

test("times may jump by years", () => {
  expect(order([0, 1e9, 5, 2e9, 1e9]).gone).toEqual([
    "0@0",
    "2@5",
    "1@1000000000",
    "4@1000000000",
    "3@2000000000",
  ]);
});
