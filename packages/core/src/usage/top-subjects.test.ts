import { describe, expect, test } from "vitest";
import { formatMember, hashSubject, subjectKey, TopSubjects } from "./top-subjects.ts";

interface Taken {
  readonly missed: number;
  readonly total: number;
  readonly counts: ReadonlyMap<string, { readonly count: number; readonly error: number }>;
}

function take(subjects: TopSubjects): Taken {
  const [missed, total, ...flat] = subjects.take((key) => key);
  const counts = new Map();
  for (let i = 0; i < flat.length; i += 3) {
    counts.set(flat[i], { count: flat[i + 1], error: flat[i + 2] });
  }
  return { missed: Number(missed), total: Number(total), counts };
}

describe("a list of top subjects", () => {
  test("is exact while it has room, and empty after it was taken", () => {
    const subjects = new TopSubjects(() => 4);
    for (const key of "abacabad") subjects.add(key);
    expect(take(subjects)).toEqual({
      missed: 0,
      total: 8,
      counts: new Map([
        ["a", { count: 4, error: 0 }],
        ["b", { count: 2, error: 0 }],
        ["c", { count: 1, error: 0 }],
        ["d", { count: 1, error: 0 }],
      ]),
    });
    expect(subjects.take((key) => key)).toEqual([]);
  });

  test("sends at most 64 subjects, and the largest possible count of any other", () => {
    const subjects = new TopSubjects(() => 512);
    for (let i = 0; i < 100; i += 1) {
      for (let times = 0; times <= i; times += 1) subjects.add(`subject ${i}`);
    }
    const { missed, counts } = take(subjects);
    expect([...counts.keys()]).toEqual(Array.from({ length: 64 }, (_, i) => `subject ${99 - i}`));
    expect(missed).toBe(36);
  });

  /** Steps through numbers that look random, and are the same each time. */
  function* numbers(seed: number): Generator<number, never> {
    for (let state = seed; ; ) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      yield state / 2 ** 32;
    }
  }

  test.each([
    ["of equal subjects", (x: number) => Math.floor(x * 1_000)],
    ["of which some are frequent", (x: number) => Math.floor(1 / (x + 0.001))],
    ["of which one is all", (x: number) => (x < 0.01 ? Math.floor(x * 100_000) : -1)],
  ])("is within its errors, and these within the bound, for requests %s", (_, of) => {
    const random = numbers(7);
    const capacity = 16;
    for (let round = 0; round < 20; round += 1) {
      const subjects = new TopSubjects(() => capacity);
      const exact = new Map<string, number>();
      for (let i = 0; i < 1_000; i += 1) {
        const key = String(of(random.next().value));
        exact.set(key, (exact.get(key) ?? 0) + 1);
        subjects.add(key);
        expect(subjects.size).toBeLessThanOrEqual(2 * capacity);
      }
      const { missed, total, counts } = take(subjects);
      expect(total).toBe(1_000);
      expect(missed).toBeLessThanOrEqual(total / (capacity + 1));
      for (const [key, times] of exact) {
        const { count, error } = counts.get(key) ?? { count: missed, error: missed };
        expect(times).toBeLessThanOrEqual(count);
        expect(times).toBeGreaterThanOrEqual(count - error);
        expect(error).toBeLessThanOrEqual(missed);
      }
    }
  });
});

describe("a subject in usage", () => {
  const long = "x".repeat(65);

  test.each([
    ["ann", false, `default#${hashSubject("ann")}`],
    ["ann", true, "default ann"],
    ["a\n#b c", true, "default a%0a%23b%20c"],
    [" ".repeat(22), true, `default#${hashSubject(" ".repeat(22))}`],
    ["a\n#b c", false, `default#${hashSubject("a\n#b c")}`],
    ["y".repeat(48), true, `default ${"y".repeat(48)}`],
    ["y".repeat(49), true, `default#${hashSubject("y".repeat(49))}`],
    [long, false, `default#${hashSubject(long)}`],
    [long, true, `default#${hashSubject(long)}`],
    ["\ud800", true, "default %ud800"],
  ])("%j is written so (plain: %s): %s", (subject, isPlain, written) => {
    expect(formatMember(subjectKey("default", subject), isPlain)).toBe(written);
  });

  test("of more than 64 characters is stored as a hash", () => {
    expect(subjectKey("default", "y".repeat(100_000))).toHaveLength("default#".length + 16);
  });

  test("is hashed to 96 bits of its SHA-256, without a secret", () => {
    expect(hashSubject("203.0.113.7")).toBe(hashSubject("203.0.113.7"));
    expect(hashSubject("abc")).toBe("ungWv48Bz-pBQUDe");
  });
});
