import { describe, expect, test } from "vitest";
import type { ConcurrencyLimit, Limit } from "../common/policy.ts";
import { compileLimit, readPolicy } from "./compile-policy.ts";
import { gcra } from "./gcra.ts";
import { slidingLog } from "./sliding-log.ts";

const DAY = 86_400_000_000;

type RateLimit = Exclude<Limit, ConcurrencyLimit>;

const LIMITS: readonly RateLimit[] = [
  { algorithm: "gcra", limit: 10, window: "1m" },
  { algorithm: "tokenBucket", capacity: 10, refill: 1, every: "6s" },
  { algorithm: "fixedWindow", limit: 10, window: "1m" },
  { algorithm: "slidingWindow", limit: 10, window: "1m" },
  { algorithm: "slidingWindow", limit: 10, window: "1m", buckets: 7 },
  { algorithm: "slidingLog", limit: 10, window: "1m" },
];

describe.each(LIMITS.map((limit) => [limit.algorithm, limit] as const))("%s", (_, limit) => {
  test("a block has one duration or a list of them", () => {
    const quietPeriod = 60_000_000;
    expect(compileLimit(limit).block).toBeUndefined();
    expect(compileLimit({ ...limit, block: "1h" }).block).toEqual({
      durations: [3_600_000_000],
      quietPeriod,
    });
    expect(compileLimit({ ...limit, block: ["1m", 1, "366d"] }).block).toEqual({
      durations: [60_000_000, 1_000, 366 * DAY],
      quietPeriod,
    });
  });

  test("a block after several denials counts them for the quiet period", () => {
    const block = { after: 10, for: ["1m", "1h"] } as const;
    expect(compileLimit({ ...limit, block }).block).toEqual({
      durations: [60_000_000, 3_600_000_000],
      quietPeriod: 60_000_000,
      after: 10,
    });
  });

  test("a limit that counts denials has a shape of its own, and a canonical form for each number", () => {
    const blocks = ["1h", { after: 10, for: "1h" }, { after: 11, for: "1h" }] as const;
    const [first, ten, eleven] = blocks.map((block) => compileLimit({ ...limit, block } as Limit));
    expect(ten?.shape.id).not.toBe(first?.shape.id);
    expect(eleven?.shape).toEqual(ten?.shape);
    expect(new Set([first, ten, eleven].map((each) => each?.canonical)).size).toBe(3);
  });

  test("a limit that blocks has a shape of its own for all durations, and a canonical form for each", () => {
    const limits = [limit, { ...limit, block: "1h" }, { ...limit, block: ["1h", "2h"] }] as Limit[];
    const [plain, one, two] = limits.map((limit) => compileLimit(limit));
    expect(one?.shape.id).not.toBe(plain?.shape.id);
    expect(two?.shape).toEqual(one?.shape);
    expect(new Set([plain, one, two].map((each) => each?.canonical)).size).toBe(3);
  });

  test.each([
    [null, "got null"],
    [0, "got 0"],
    ["1w", 'got "1w"'],
    ["367d", 'got "367d"'],
    [true, "got true"],
    [{}, "after must be a whole number of denials from 1 to 1000000, got undefined"],
    [{ after: 0, for: "1h" }, "after must be a whole number of denials from 1 to 1000000, got 0"],
    [{ after: 1_000_001, for: "1h" }, "got 1000001"],
    [{ after: 2.5, for: "1h" }, "got 2.5"],
    [{ after: "10", for: "1h" }, 'got "10"'],
    [{ after: 10 }, "block: for must be a duration from 1 ms to 366 days"],
    [{ after: 10, for: [] }, "block: for must be a duration or a list of 1 to 16, got []"],
    [{ after: 10, for: { after: 1, for: "1h" } }, "block: for must be a duration"],
    [{ after: 10, for: "1h", within: "1m" }, 'block: unknown option "within"; it takes after, for'],
    [[], "a list of 1 to 16, got []"],
    [["1m", "soon"], 'got "soon"'],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is tried.
    [[1, , 3], "got undefined"],
    [new Array(17).fill("1h"), "a list of 1 to 16"],
  ])("a block of %j is refused", (block, message) => {
    expect(() => compileLimit({ ...limit, block: block as never })).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_LIMIT" }),
    );
    expect(() => compileLimit({ ...limit, block: block as never })).toThrow(message);
  });
});

test("the quiet period lasts until the limit has recovered, up to 366 days", () => {
  const quietOf = (limit: RateLimit) => compileLimit({ ...limit, block: "1s" }).block?.quietPeriod;
  expect(quietOf(gcra({ limit: 1, window: "1m", burst: 10 }))).toBe(600_000_000);
  expect(quietOf(gcra({ limit: 100, window: "1m", burst: 10 }))).toBe(60_000_000);
  expect(quietOf(gcra({ limit: 1, window: "1d", burst: 1_000_000 }))).toBe(366 * DAY);
});

test("readPolicy copies a list of block durations", () => {
  const block = ["1m", "10m"];
  const policy = readPolicy({ algorithm: "slidingLog", limit: 10, window: "1d", block });
  block.push("1h");
  expect(policy).toEqual(slidingLog({ limit: 10, window: "1d", block: ["1m", "10m"] }));
});

test("readPolicy copies a block object", () => {
  const block = { after: 5, for: ["1m", "10m"] };
  const policy = readPolicy({ algorithm: "slidingLog", limit: 10, window: "1d", block });
  block.after = 1;
  block.for.push("1h");
  const read = { after: 5, for: ["1m", "10m"] } as const;
  expect(policy).toEqual(slidingLog({ limit: 10, window: "1d", block: read }));
});

test("a concurrency limit cannot block, because a denied client did nothing wrong", () => {
  const blocking = { algorithm: "concurrency", limit: 2, ttl: "1m", block: "1h" } as Limit;
  expect(() => compileLimit(blocking)).toThrow('unknown option "block"; it takes limit, ttl');
});
