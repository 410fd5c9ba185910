import { expect, test } from "vitest";
import { SubjectUsage } from "./subject-usage.ts";

/** Usage in which some subjects have used as many milliseconds each. */
function usageOf(times: Readonly<Record<string, number>>): SubjectUsage {
  const usage = new SubjectUsage(0);
  for (const [subject, ms] of Object.entries(times)) usage.charge(subject, ms, 0);
  return usage;
}

test("a subject is heavy above three times its fair share", () => {
  // Five subjects share 250 ms: 50 each, and three times that is 150.
  const others = { b: 25, c: 25, d: 25 };
  expect(usageOf({ a: 151, e: 24, ...others }).isHeavy("a", 0)).toBe(true);
  expect(usageOf({ a: 150, e: 25, ...others }).isHeavy("a", 0)).toBe(false);
  expect(usageOf({ a: 151, e: 24, ...others }).isHeavy("e", 0)).toBe(false);
  expect(usageOf({ a: 151, e: 24, ...others }).isHeavy("unknown", 0)).toBe(false);
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
