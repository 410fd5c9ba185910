import { expect, test } from "vitest";
import { SubjectUsage } from "./subject-usage.ts";

/** Usage in which some subjects have used as many milliseconds each. */
function usageOf(times: Readonly<Record<string, number>>): SubjectUsage {
  const usage = new SubjectUsage(0);
  for (const [subject, ms] of Object.entries(times)) usage.charge(subject, ms, 0);
  return usage;
}

test.each([
  // Of 1,000 ms, three fair shares of 2 or 3 subjects are all or more; of 4, three quarters.
  [2, 750],
  [3, 750],
  [4, 750],
  [5, 600],
  [10, 300],
])("of %d subjects, one is heavy above %d ms of 1,000", (subjects, most) => {
  const usageWith = (ms: number): SubjectUsage => {
    const others = Array.from({ length: subjects - 1 }, (_, i) => [
      `other ${i}`,
      (1_000 - ms) / (subjects - 1),
    ]);
    return usageOf({ a: ms, ...Object.fromEntries(others) });
  };
  expect(usageWith(most - 1).isHeavy("a", 0)).toBe(false);
  expect(usageWith(most + 1).isHeavy("a", 0)).toBe(true);
});

test("the other subjects of a heavy one are not heavy, nor is one that is not known", () => {
  const usage = usageOf({ a: 990, b: 10 });
  expect(usage.isHeavy("a", 0)).toBe(true);
  expect(usage.isHeavy("b", 0)).toBe(false);
  expect(usage.isHeavy("unknown", 0)).toBe(false);
});

test("a subject that is alone is not heavy, nor is one that has used little", () => {
  expect(usageOf({ a: 1_000 }).isHeavy("a", 0)).toBe(false);
  const little = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`s${i}`, 1]));
  expect(usageOf({ ...little, a: 20 }).isHeavy("a", 0)).toBe(false);
  expect(usageOf({ ...little, a: 21 }).isHeavy("a", 0)).toBe(true);
});

test("usage is halved each second, also in seconds without a request", () => {
  const times = { a: 320, b: 10, c: 10, d: 10, e: 10, f: 10 };
  const usage = usageOf(times);
  expect(usage.isHeavy("a", 3_999)).toBe(true);
  // 20 ms are left.
  expect(usage.isHeavy("a", 4_000)).toBe(false);
});

test("of more than 1,000 subjects, those that were charged last are remembered", () => {
  const usage = usageOf({ heavy: 100 });
  for (let i = 0; i < 5_000; i += 1) {
    usage.charge(`s${i}`, 1, 0);
    if (i % 900 === 0) usage.charge("heavy", 1, 0);
  }
  expect(usage.isHeavy("heavy", 0)).toBe(true);
  for (let i = 0; i < 1_000; i += 1) usage.charge(`t${i}`, 1, 0);
  expect(usage.isHeavy("heavy", 0)).toBe(false);
});
