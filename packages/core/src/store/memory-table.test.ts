import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { EvictionRank, RowFormat } from "./memory-table.ts";
import { MemoryTable, OBJECT_FORMAT } from "./memory-table.ts";

/** The most log entries a table holds. */
const MAX_ENTRIES = 1_048_576;

/** Microseconds for which expired rows stay while there is room. */
const KEPT_AFTER = 1_000_000;

/** What a table of `maxKeys` should hold, by looking at every row each time. */
class Model {
  readonly rows = new Map<string, EvictionRank>();
  evicted = 0;
  readonly #maxKeys: number;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  set(key: string, rank: EvictionRank, now: number): void {
    if (!this.rows.has(key)) {
      for (let swept = 0; swept < 2; swept += 1) {
        const [first] = this.#sorted((a, b) => a.expiresAt - b.expiresAt);
        if (first !== undefined && first[1].expiresAt <= now - KEPT_AFTER)
          this.rows.delete(first[0]);
      }
      if (this.rows.size >= this.#maxKeys) this.rows.delete(this.#firstToGo(now));
    }
    this.rows.set(key, rank);
  }

  #firstToGo(now: number): string {
    const [first] = this.#sorted((a, b) => a.expiresAt - b.expiresAt) as [[string, EvictionRank]];
    const [least] = this.#sorted(
      (a, b) => a.usedShare - b.usedShare || a.expiresAt - b.expiresAt,
    ) as [[string, EvictionRank]];
    if (first[1].expiresAt <= now) return first[0];
    this.evicted += 1;
    return least[0];
  }

  #sorted(compare: (a: EvictionRank, b: EvictionRank) => number): [string, EvictionRank][] {
    return [...this.rows].sort(([, a], [, b]) => compare(a, b));
  }
}

function get(table: MemoryTable, key: string): object | undefined {
  return table.get("", key, OBJECT_FORMAT);
}

function set(table: MemoryTable, key: string, rank: EvictionRank, now: number, value = {}): void {
  table.set("", key, OBJECT_FORMAT, value, rank, now);
}

const steps = fc.array(
  fc.record({
    key: fc.constantFrom(..."abcdefghijklmnop"),
    move: fc.oneof(
      { arbitrary: fc.constantFrom("set", "set", "set", "set", "set", "delete"), weight: 40 },
      { arbitrary: fc.constant("clear"), weight: 1 },
    ),
    share: fc.constantFrom(0, 0.25, 0.5, 1),
    life: fc.constantFrom(...[1, 5, 20, 1_000, 2_000].map((life) => life * (KEPT_AFTER / 20))),
    rest: fc.nat(6).map((rest) => rest * (KEPT_AFTER / 20)),
  }),
  { maxLength: 120 },
);

test.prop([steps, fc.integer({ min: 1, max: 8 })], { numRuns: 500 })(
  "a full table evicts expired rows, then the lowest share, then the earliest expiry",
  (moves, maxKeys) => {
    const table = new MemoryTable(maxKeys);
    const model = new Model(maxKeys);
    let now = 0;
    moves.forEach(({ key, move, share, life, rest }, i) => {
      now += rest;
      if (move === "clear") {
        table.clear();
        model.rows.clear();
      } else if (move === "delete") {
        expect(table.delete("", key)).toBe(model.rows.delete(key));
      } else {
        // No two rows expire together, so that it is never open which of them goes.
        const rank = { usedShare: share, expiresAt: now + life + i / 1_000, logEntries: 0 };
        const value = { i };
        set(table, key, rank, now, value);
        model.set(key, rank, now);
        expect(get(table, key)).toBe(value);
      }
      const kept = [..."abcdefghijklmnop"].filter((other) => get(table, other) !== undefined);
      expect(kept).toEqual([...model.rows.keys()].sort());
      expect(table.size).toBe(model.rows.size);
      expect(table.evictions).toBe(model.evicted);
      expect(table.size).toBeLessThanOrEqual(maxKeys);
    });
  },
);

interface Numbers {
  readonly values: readonly number[];
  readonly remainder: object | undefined;
}

function formatOf(width: number): RowFormat<Numbers> {
  return {
    width,
    read: (numbers, at, _, remainder) => ({
      values: [...numbers.subarray(at, at + width)],
      remainder,
    }),
    write({ values, remainder }, numbers, at) {
      numbers.set(values, at);
      return remainder;
    },
  };
}

/** Keyspaces of rows that take one cell, two cells, many, and more than a page. */
const FORMATS: Readonly<Record<string, RowFormat<Numbers>>> = {
  narrow: formatOf(2),
  wide: formatOf(12),
  wider: formatOf(300),
  "wider than a page": formatOf(1_000),
};

test.prop(
  [
    fc.array(
      fc.record({
        keyspace: fc.constantFrom(...Object.keys(FORMATS)),
        key: fc.constantFrom(..."abcd"),
        move: fc.constantFrom("set", "set", "set", "delete"),
        share: fc.constantFrom(0.1, 0.5, 1),
        hasRemainder: fc.boolean(),
      }),
      { maxLength: 200 },
    ),
    fc.integer({ min: 1, max: 12 }),
  ],
  { numRuns: 200 },
)("every row keeps its own numbers, whatever rows of other sizes come and go", (moves, maxKeys) => {
  const table = new MemoryTable(maxKeys);
  const written = new Map<string, Numbers>();
  moves.forEach(({ keyspace, key, move, share, hasRemainder }, i) => {
    const format = FORMATS[keyspace] as RowFormat<Numbers>;
    if (move === "delete") {
      const isPresent = table.get(keyspace, key, format) !== undefined;
      expect(table.delete(keyspace, key)).toBe(isPresent);
    } else {
      const values = Array.from({ length: format.width }, (_, n) => i + n / 1_000);
      const value = { values, remainder: hasRemainder ? { i } : undefined };
      const rank = { usedShare: share, expiresAt: 1_000_000 + i, logEntries: 0 };
      table.set(keyspace, key, format, value, rank, 0);
      written.set(`${keyspace} ${key}`, value);
      expect(table.get(keyspace, key, format)).toEqual(value);
    }
    let size = 0;
    for (const [name, other] of Object.entries(FORMATS)) {
      for (const one of "abcd") {
        const value = table.get(name, one, other);
        if (value === undefined) continue;
        size += 1;
        expect(value).toEqual(written.get(`${name} ${one}`));
        expect(value.remainder).toBe(written.get(`${name} ${one}`)?.remainder);
      }
    }
    expect(table.size).toBe(size);
  });
});

describe("log entries", () => {
  const logs = fc.array(
    fc.record({
      key: fc.constantFrom(..."abcdefgh"),
      share: fc.constantFrom(0.25, 0.5, 1),
      entries: fc.constantFrom(0, 1, 300_000, 600_000, 1_000_000),
      isDeleted: fc.constantFrom(false, false, false, true),
    }),
    { maxLength: 40 },
  );

  test.prop([logs])("log entries are bounded in total, and the row just written stays", (moves) => {
    const table = new MemoryTable(1_000);
    const held = new Map<string, number>();
    moves.forEach(({ key, share: usedShare, entries: logEntries, isDeleted }, i) => {
      if (isDeleted) table.delete("", key);
      else set(table, key, { usedShare, expiresAt: 1_000 + i, logEntries }, i);
      held.set(key, logEntries);
      expect(get(table, key) !== undefined).toBe(!isDeleted);
      const total = [...held]
        .filter(([other]) => get(table, other) !== undefined)
        .reduce((sum, [, count]) => sum + count, 0);
      expect(table.logEntries).toBe(total);
      expect(table.logEntries).toBeLessThanOrEqual(MAX_ENTRIES);
    });
  });

  test("log entries of the lowest share are evicted first", () => {
    const table = new MemoryTable(1_000);
    const log = (share: number) => ({ usedShare: share, expiresAt: 1_000, logEntries: 400_000 });
    set(table, "half", log(0.5), 0);
    set(table, "spent", log(1), 0);
    set(table, "quarter", log(0.25), 0);
    expect(get(table, "half")).toBeUndefined();
    expect(get(table, "spent")).toBeDefined();
    expect(get(table, "quarter")).toBeDefined();
    expect(table.evictions).toBe(1);
    set(table, "more", { ...log(0.6), expiresAt: 2_000 }, 1_000);
    expect(get(table, "quarter")).toBeUndefined();
    // It had expired.
    expect(table.evictions).toBe(1);
  });

  test("log entries do not evict counters without any", () => {
    const table = new MemoryTable(1_000);
    for (let i = 0; i < 500; i += 1) {
      set(table, `counter${i}`, { usedShare: 0.5, expiresAt: 1_000, logEntries: 0 }, 0);
    }
    set(table, "one log", { usedShare: 0.9, expiresAt: 1_000, logEntries: 600_000 }, 0);
    set(table, "another", { usedShare: 0.8, expiresAt: 1_000, logEntries: 600_000 }, 0);
    expect(table.logEntries).toBe(600_000);
    expect(table.size).toBe(501);
  });
});

test("names of object properties are ordinary keys", () => {
  const table = new MemoryTable(10);
  for (const key of ["__proto__", "constructor", "hasOwnProperty", ""]) {
    expect(get(table, key)).toBeUndefined();
    const value = {};
    set(table, key, { usedShare: 1, expiresAt: 10, logEntries: 0 }, 0, value);
    expect(get(table, key)).toBe(value);
    expect(table.delete("", key)).toBe(true);
    expect(table.delete("", key)).toBe(false);
  }
});

test("each added row removes two that expired a second ago, so that no addition is slow", () => {
  const table = new MemoryTable(1_000);
  for (let i = 0; i < 100; i += 1) {
    set(table, `old${i}`, { usedShare: 1, expiresAt: 10, logEntries: 0 }, 0);
  }
  set(
    table,
    "new",
    { usedShare: 1, expiresAt: 10 + 2 * KEPT_AFTER, logEntries: 0 },
    10 + KEPT_AFTER,
  );
  expect(table.size).toBe(99);
  for (let i = 0; i < 98; i += 1) {
    set(
      table,
      `new${i}`,
      { usedShare: 1, expiresAt: 10 + 2 * KEPT_AFTER, logEntries: 0 },
      10 + KEPT_AFTER,
    );
  }
  expect(table.size).toBe(99);
});

test("a row that has just expired stays while there is room, because its subject may return soon", () => {
  const table = new MemoryTable(3);
  set(table, "back soon", { usedShare: 0.9, expiresAt: 10, logEntries: 0 }, 0);
  set(table, "b", { usedShare: 0.1, expiresAt: 5_000_000, logEntries: 0 }, 9 + KEPT_AFTER);
  set(table, "c", { usedShare: 0.1, expiresAt: 5_000_000, logEntries: 0 }, 9 + KEPT_AFTER);
  expect(get(table, "back soon")).toBeDefined();
  set(table, "d", { usedShare: 0.1, expiresAt: 5_000_000, logEntries: 0 }, 9 + KEPT_AFTER);
  expect(get(table, "back soon")).toBeUndefined();
  expect(table.size).toBe(3);
});

test("a cleared table is empty, and bounds new rows as before", () => {
  const table = new MemoryTable(3);
  const rank = (share: number, entries = 0) => ({
    usedShare: share,
    expiresAt: 5_000_000,
    logEntries: entries,
  });
  for (const key of ["a", "b", "c", "d"]) set(table, key, rank(0.1, 300_000), 0);
  table.clear();
  expect([table.size, table.logEntries, get(table, "d"), table.delete("", "d")]).toEqual([
    0,
    0,
    undefined,
    false,
  ]);
  set(table, "e", rank(0.2), 0);
  for (const key of ["f", "g", "h"]) set(table, key, rank(0.5, 400_000), 0);
  expect(["e", "f", "g", "h"].filter((key) => get(table, key) !== undefined)).toEqual(["g", "h"]);
  expect([table.size, table.logEntries]).toEqual([2, 800_000]);
});

test("a row whose used share fell is evicted before one that has used more", () => {
  const table = new MemoryTable(2);
  const use = (key: string, usedShare: number) => {
    set(table, key, { usedShare, expiresAt: 10, logEntries: 0 }, 0);
  };
  use("fell", 1);
  use("first", 0.5);
  use("rest", 0.6);
  use("fell", 0.25);
  use("last", 0.9);
  expect(["fell", "first", "rest", "last"].filter((key) => get(table, key))).toEqual([
    "rest",
    "last",
  ]);
});
