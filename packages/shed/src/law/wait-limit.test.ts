import { expect, test } from "vitest";
import { WaitLimit } from "./wait-limit.ts";

/** The limit after seconds with these shortest waits. */
function limitsAfter(limit: WaitLimit, ...shortest: readonly number[]): number[] {
  return shortest.map((wait) => {
    limit.noteWait(wait + 50);
    limit.noteWait(wait);
    limit.endSecond();
    return limit.current;
  });
}

test("a standing queue halves the limit each second, down to 20 ms", () => {
  expect(limitsAfter(new WaitLimit(300), 181, 91, 46, 23, 19, 19)).toEqual([
    150, 75, 37.5, 20, 20, 20,
  ]);
  // Also where it is not far from there.
  expect(limitsAfter(new WaitLimit(25), 20, 20)).toEqual([20, 20]);
});

test("a queue that is sometimes short raises the limit by half each second, and one that is sometimes empty at once", () => {
  const limit = new WaitLimit(300);
  limitsAfter(limit, 290, 140, 70);
  expect(limit.current).toBe(37.5);
  expect(limitsAfter(limit, 22, 33, 50, 75, 100)).toEqual([
    56.25, 84.375, 126.5625, 189.84375, 284.765625,
  ]);
  expect(limitsAfter(limit, 100)).toEqual([300]);
  limitsAfter(limit, 290, 140);
  expect(limitsAfter(limit, 7)).toEqual([300]);
});

test("an idle loop restores the limit, and a second without requests leaves it", () => {
  const limit = new WaitLimit(300);
  limitsAfter(limit, 290);
  limit.endSecond();
  expect(limit.current).toBe(150);
  limit.noteIdle();
  expect(limitsAfter(limit, 149)).toEqual([300]);
  // The next second is assessed by itself.
  expect(limitsAfter(limit, 290)).toEqual([150]);
  limit.reset();
  expect(limit.current).toBe(300);
});

test("a sheddable request may wait 0.4 of the limit, and one of a heavy subject 0.4 of its own; a critical one for ever", () => {
  const limit = new WaitLimit(300);
  expect(limit.of("default", false)).toBe(300);
  expect(limit.of("sheddable", false)).toBe(120);
  expect(limit.of("default", true)).toBe(120);
  expect(limit.of("sheddable", true)).toBe(48);
  expect(limit.of("critical", false)).toBe(Number.POSITIVE_INFINITY);
  expect(limit.of("critical", true)).toBe(Number.POSITIVE_INFINITY);
});
