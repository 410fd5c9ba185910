import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { HeadgateError } from "../common/errors.ts";
import { formatReceived } from "../common/errors.ts";
import type { Limit } from "../common/policy.ts";
import { compileLimit } from "./compile-policy.ts";
import { fixedWindow } from "./fixed-window.ts";
import { gcra } from "./gcra.ts";
import { slidingLog } from "./sliding-log.ts";
import { slidingWindow } from "./sliding-window.ts";
import { tokenBucket } from "./token-bucket.ts";

const YEAR_MS = 366 * 86_400_000;

function errorOf(limit: unknown): HeadgateError {
  try {
    compileLimit(limit as Limit);
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error(`accepted ${JSON.stringify(limit)}`);
}

const valid = {
  gcra: { algorithm: "gcra", limit: 10, window: "1s", burst: 5 },
  tokenBucket: { algorithm: "tokenBucket", capacity: 10, refill: 5, every: "1s" },
  fixedWindow: { algorithm: "fixedWindow", limit: 10, window: "1s", align: "clock" },
  slidingWindow: { algorithm: "slidingWindow", limit: 10, window: "1s", buckets: 4 },
  slidingLog: { algorithm: "slidingLog", limit: 10, window: "1s" },
} as const satisfies Record<string, Limit>;

/** What no number of units may be. */
const NO_UNITS = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "10", null, true, 10n, [], {}];
/** The same of a number that must be at least 1. */
const NO_COUNT = [0, ...NO_UNITS];
const NO_WINDOW = [0, -1, 0.5, Number.NaN, YEAR_MS + 1, "0s", "1.5s", "10", "1 s", "1w", "", null];

const refused: readonly [algorithm: keyof typeof valid, option: string, values: unknown[]][] = [
  ["gcra", "limit", [...NO_UNITS, undefined, 1_000_000_001, 1_000_001]],
  ["gcra", "window", [...NO_WINDOW, undefined, "367d"]],
  ["gcra", "burst", [...NO_COUNT, 1_000_000_001]],
  ["tokenBucket", "capacity", [...NO_UNITS, undefined, 1_000_000_001]],
  ["tokenBucket", "refill", [...NO_COUNT, undefined, 1_000_000_001, 1_000_001]],
  ["tokenBucket", "every", [...NO_WINDOW, undefined]],
  ["fixedWindow", "limit", [...NO_UNITS, undefined, 1_000_001]],
  ["fixedWindow", "window", [...NO_WINDOW, undefined]],
  ["fixedWindow", "align", ["middle", "", 1, null, 1n, Symbol("clock")]],
  ["slidingWindow", "limit", [...NO_UNITS, undefined, 1_000_001]],
  ["slidingWindow", "window", [...NO_WINDOW, undefined]],
  ["slidingWindow", "buckets", [...NO_COUNT, 61]],
  ["slidingLog", "limit", [...NO_UNITS, undefined, 1_000_001]],
  ["slidingLog", "window", [...NO_WINDOW, undefined]],
];
const text = ["", "x".repeat(65), "naïve", "line\nbreak", "\x7f", 5, null, {}];

describe("a limit is refused at construction", () => {
  const named = Object.keys(valid).flatMap((algorithm) => [
    [algorithm, "name", text] as const,
    [algorithm, "per", [...text, "a b", "a:b", "{a}"]] as const,
    [algorithm, "max", [5]] as const,
    [algorithm, "Limit", [undefined]] as const,
  ]);
  const cases = [...refused, ...named].flatMap(([algorithm, option, values]) =>
    values.map((value) => ({ algorithm, option, value, shown: formatReceived(value) })),
  );

  test.each(cases)("$algorithm: $option of $shown", ({ algorithm, option, value }) => {
    const limit = { ...valid[algorithm as keyof typeof valid], [option]: value };
    const error = errorOf(limit);
    expect(error.code).toBe("HEADGATE_INVALID_LIMIT");
    expect(error.message).toContain(algorithm);
    expect(error.message).toContain(option);
    const isUnknown = option === "max" || option === "Limit";
    if (!isUnknown) expect(error.message).toContain(formatReceived(value));
  });

  test("a limit with unknown options is refused with all of them in one message", () => {
    const limit = { ...valid.gcra, max: 5, windowMs: 1_000 };
    expect(errorOf(limit).message).toBe(
      'gcra: unknown options "max", "windowMs"; it takes limit, window, burst, block, name, notifyAt, per',
    );
  });

  test("a limit of more than one unit per microsecond is refused with both numbers in the message", () => {
    const error = errorOf({ algorithm: "gcra", limit: 1_001, window: 1 });
    expect(error.message).toContain("1001 in 1 ms");
    expect(compileLimit({ algorithm: "gcra", limit: 1_000, window: 1 }).limit).toBe(1_000);
  });

  test.each([undefined, null, 5, "gcra", [], {}, { algorithm: "GCRA" }, { algorithm: 1 }])(
    "that is not a limit: %s",
    (limit) => {
      expect(errorOf(limit).code).toBe("HEADGATE_INVALID_LIMIT");
      expect(errorOf(limit).message).toContain(formatReceived(limit));
    },
  );

  test.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "whose algorithm is %s, which every object has",
    (algorithm) => {
      expect(errorOf({ algorithm }).code).toBe("HEADGATE_INVALID_LIMIT");
    },
  );

  const anything = fc.oneof(
    fc.anything({
      withBigInt: true,
      withDate: true,
      withNullPrototype: true,
      withSparseArray: true,
    }),
    fc.constantFrom<unknown>(1, 10, "1s", "1m", "clock", "first", Symbol("x"), () => 1),
  );
  test.prop(
    [
      fc.constantFrom<unknown>(...Object.keys(valid)),
      fc.dictionary(
        fc.constantFrom(
          "limit",
          "window",
          "burst",
          "capacity",
          "refill",
          "every",
          "align",
          "buckets",
          "name",
          "per",
        ),
        anything,
      ),
    ],
    { numRuns: 3_000 },
  )("or constructs: nothing else happens, whatever it is given", (algorithm, options) => {
    const limit = { algorithm, ...options };
    let compiled: unknown;
    try {
      compiled = compileLimit(limit as never);
    } catch (error) {
      expect((error as HeadgateError).code).toBe("HEADGATE_INVALID_LIMIT");
      return;
    }
    expect(compiled).toMatchObject({ limit: expect.any(Number), windowMs: expect.any(Number) });
  });
});

describe("a limit is accepted", () => {
  test.each([
    gcra({ limit: 0, window: 1 }),
    tokenBucket({ capacity: 0, refill: 1, every: "366d" }),
    slidingLog({ limit: 0, window: "1s" }),
    gcra({ limit: 1, window: 1 }),
    gcra({ limit: 1_000_000_000, window: "366d", burst: 1_000_000_000 }),
    gcra({ limit: 1_000_000, window: "1s", burst: 1 }),
    tokenBucket({ capacity: 1_000_000_000, refill: 1, every: "366d" }),
    tokenBucket({ capacity: 1, refill: 1_000_000_000, every: "1000s" }),
    fixedWindow({ limit: 1_000_000_000, window: "366d" }),
    slidingWindow({ limit: 1_000_000_000, window: "366d", buckets: 60 }),
    slidingWindow({ limit: 1, window: 1, buckets: 60 }),
    slidingLog({ limit: 1_000_000, window: "366d" }),
    slidingLog({ limit: 1_000_000, window: "1s" }),
  ])("the ends of every range are accepted: %j", (limit) => {
    const { limit: most, windowMs } = compileLimit(limit);
    expect(Number.isSafeInteger(most) && most >= 0).toBe(true);
    expect(Number.isSafeInteger(windowMs) && windowMs >= 1).toBe(true);
  });

  test("builders return plain JSON that is accepted", () => {
    expect(gcra({ limit: 10, window: "1s", burst: 5 })).toEqual(valid.gcra);
    expect(tokenBucket({ capacity: 10, refill: 5, every: "1s" })).toEqual(valid.tokenBucket);
    expect(fixedWindow({ limit: 10, window: "1s", align: "clock" })).toEqual(valid.fixedWindow);
    expect(slidingWindow({ limit: 10, window: "1s", buckets: 4 })).toEqual(valid.slidingWindow);
    expect(slidingLog({ limit: 10, window: "1s" })).toEqual(valid.slidingLog);
    for (const limit of Object.values(valid)) {
      const { algorithm, ...compiled } = compileLimit(JSON.parse(JSON.stringify(limit)));
      expect(compiled).toEqual({ ...compileLimit(limit), algorithm: undefined });
      expect(algorithm).toBe(compileLimit(limit).algorithm);
    }
  });

  test("a limit may have a name and a dimension", () => {
    for (const limit of Object.values(valid)) {
      expect(compileLimit({ ...limit, name: 'a "quoted" name', per: "tenant.id-1" })).toMatchObject(
        {
          name: 'a "quoted" name',
          per: "tenant.id-1",
        },
      );
    }
  });

  test("an undefined option counts as left out", () => {
    const plain = compileLimit({ algorithm: "gcra", limit: 10, window: "1s" });
    const spelt = {
      algorithm: "gcra",
      limit: 10,
      window: "1s",
      burst: undefined,
      name: undefined,
      per: undefined,
    } as const;
    expect(compileLimit(spelt)).toEqual(plain);
  });

  test("a window of half a second is accepted", () => {
    expect(compileLimit(fixedWindow({ limit: 5, window: 500 })).windowMs).toBe(500);
    expect(compileLimit(gcra({ limit: 5, window: "250ms" })).name).toBe("5-per-250ms");
  });
});

test.each<[string, Limit]>([
  ["a limit above 10^9", fixedWindow({ limit: 10 * 2 ** 30, window: "1d" })],
  ["a burst above 10^9", gcra({ limit: 1, window: "1d", burst: 2e9 })],
  ["a capacity above 10^9", tokenBucket({ capacity: 2e9, refill: 1, every: "1d" })],
  ["a slidingLog above 10^6", slidingLog({ limit: 2e6, window: "1d" })],
  ["a rate above 10^6 in a second", slidingWindow({ limit: 1_000_001, window: "1s" })],
])("the error for %s says to count in larger units", (_, limit) => {
  expect(() => compileLimit(limit)).toThrow(
    /, got \d+( in 1000 ms)?; count in larger units, such as kilobytes instead of bytes$/,
  );
});

test.each([
  { ...valid.gcra, limit: -1 },
  { ...valid.gcra, limit: 1.5 },
  { algorithm: "concurrency", limit: 10_001, ttl: "1m" } as const,
])("the error for %j does not", (limit) => {
  expect(() => compileLimit(limit)).toThrow(/, got [-.\d]+$/);
});

test("limits that count differently have different canonical forms", () => {
  const canonical = (limit: Limit) => compileLimit(limit).canonical;
  const all = [
    gcra({ limit: 10, window: "1s" }),
    gcra({ limit: 10, window: "2s" }),
    gcra({ limit: 11, window: "1s" }),
    gcra({ limit: 10, window: "1s", burst: 11 }),
    tokenBucket({ capacity: 10, refill: 10, every: "1s" }),
    fixedWindow({ limit: 10, window: "1s" }),
    fixedWindow({ limit: 10, window: "1s", align: "clock" }),
    slidingWindow({ limit: 10, window: "1s" }),
    slidingWindow({ limit: 10, window: "1s", buckets: 2 }),
    slidingLog({ limit: 10, window: "1s" }),
  ].map(canonical);
  expect(new Set(all).size).toBe(all.length);
});
