import { describe, expect, test } from "vitest";
import type { ConcurrencyLimit, Limit } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { compileLimit, readPolicy } from "./compile-policy.ts";
import { fixedWindow } from "./fixed-window.ts";
import { gcra } from "./gcra.ts";
import { tokenBucket } from "./token-bucket.ts";

type RateLimit = Exclude<Limit, ConcurrencyLimit>;

const HOUR = 3_600_000_000;

const LIMITS: readonly RateLimit[] = [
  { algorithm: "gcra", limit: 10, window: "1h" },
  { algorithm: "tokenBucket", capacity: 10, refill: 10, every: "1h" },
  { algorithm: "fixedWindow", limit: 10, window: "1h" },
  { algorithm: "slidingWindow", limit: 10, window: "1h" },
  { algorithm: "slidingWindow", limit: 10, window: "1h", buckets: 7 },
  { algorithm: "slidingLog", limit: 10, window: "1h" },
];

describe.each(LIMITS.map((limit) => [limit.algorithm, limit] as const))("%s", (_, limit) => {
  test("thresholds are units, rounded up", () => {
    expect(compileLimit(limit).notify).toBeUndefined();
    expect(compileLimit({ ...limit, notifyAt: [0.05, 0.8, 0.81, 1] }).notify).toEqual({
      shares: [0.05, 0.8, 0.81, 1],
      units: [1, 8, 9, 10],
      repeatAfter: HOUR,
    });
  });

  test("thresholds change the canonical form, but not the keys", () => {
    const [plain, one, two] = [undefined, [0.8], [0.8, 1]].map((notifyAt) =>
      compileLimit({ ...limit, notifyAt }),
    );
    expect(one?.shape.id).toBe(plain?.shape.id);
    expect(one?.shape.state).toEqual(plain?.shape.state);
    expect(two?.shape).toEqual(one?.shape);
    expect(new Set([plain, one, two].map((each) => each?.canonical)).size).toBe(3);
  });

  test.each([
    [[], "notifyAt must be a list of 1 to 8 shares of the limit, got []"],
    [0.8, "notifyAt must be a list of 1 to 8 shares of the limit, got 0.8"],
    [
      [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
      "notifyAt must be a list of 1 to 8 shares of the limit, got [0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9]",
    ],
    [[0], "notifyAt must be shares above 0 and up to 1, such as 0.8 for 80 %, got 0"],
    [[80], "notifyAt must be shares above 0 and up to 1, such as 0.8 for 80 %, got 80"],
    [[1.01], "notifyAt must be shares above 0 and up to 1, such as 0.8 for 80 %, got 1.01"],
    [[-0.5], "notifyAt must be shares above 0 and up to 1, such as 0.8 for 80 %, got -0.5"],
    [[Number.NaN], "notifyAt must be shares above 0 and up to 1, such as 0.8 for 80 %, got NaN"],
    [["0.8"], 'notifyAt must be shares above 0 and up to 1, such as 0.8 for 80 %, got "0.8"'],
    [
      new Array(2),
      "notifyAt must be shares above 0 and up to 1, such as 0.8 for 80 %, got undefined",
    ],
    [[0.8, 0.8], "notifyAt must ascend, got 0.8 after 0.8"],
    [[1, 0.8], "notifyAt must ascend, got 0.8 after 1"],
  ])("notifyAt of %j is refused with the received value", (notifyAt, message) => {
    const make = () => createLimiter({ limits: { ...limit, notifyAt } as never });
    const code = "HEADGATE_INVALID_LIMIT";
    expect(make).toThrow(
      expect.objectContaining({ code, message: `${limit.algorithm}: ${message}` }),
    );
  });
});

test("a threshold is not published again for as long as all units take to come back", () => {
  const notifyAt = [1];
  const spans = [
    gcra({ limit: 5, burst: 10, window: "1h", notifyAt }),
    tokenBucket({ capacity: 30, refill: 10, every: "1h", notifyAt }),
    tokenBucket({ capacity: 5, refill: 10, every: "1h", notifyAt }),
  ].map((limit) => compileLimit(limit).notify?.repeatAfter);
  expect(spans).toEqual([2 * HOUR, 3 * HOUR, HOUR]);
});

test("every hundredth of every limit up to 1,000 is exact", () => {
  const shares = Array.from({ length: 100 }, (_, i) => (i + 1) / 100);
  for (let limit = 1; limit <= 1_000; limit += 1) {
    for (let from = 0; from < 100; from += 8) {
      const notifyAt = shares.slice(from, from + 8);
      const { notify } = compileLimit(fixedWindow({ limit, window: "1h", notifyAt }));
      const exact = notifyAt.map((_, i) => Math.ceil(((from + i + 1) * limit) / 100));
      expect(notify?.units).toEqual(exact);
    }
  }
});

test("the largest limit is reached by its last unit", () => {
  const limit = 1_000_000_000;
  const { notify } = compileLimit(fixedWindow({ limit, window: "366d", notifyAt: [1e-9, 1] }));
  expect(notify?.units).toEqual([1, limit]);
});

test("a limit of 0 has no thresholds", () => {
  const limit = fixedWindow({ limit: 0, window: "1h", notifyAt: [0.8, 1] });
  expect(compileLimit(limit).notify?.units).toEqual([]);
});

test("a concurrency limit has no thresholds", () => {
  const limits = { algorithm: "concurrency", limit: 2, ttl: "1m", notifyAt: [1] };
  expect(() => createLimiter({ limits: limits as never })).toThrow(
    'concurrency: unknown option "notifyAt"; it takes limit, ttl, name, per',
  );
});

test("lease is refused with thresholds, because leased units are not used yet", () => {
  const limits = gcra({ limit: 10, window: "1h", notifyAt: [0.8], name: "hourly" });
  const make = () => createLimiter({ limits, lease: { max: 5, ttl: "1s" } });
  expect(make).toThrow(
    expect.objectContaining({
      code: "HEADGATE_INVALID_OPTION",
      message:
        'lease cannot be used with notifyAt, which would count units taken ahead as used; the limit "hourly" has notifyAt',
    }),
  );
});

test("readPolicy copies thresholds", () => {
  const notifyAt = [0.8, 1];
  const policy = readPolicy({ algorithm: "gcra", limit: 10, window: "1h", notifyAt });
  notifyAt.pop();
  expect(policy).toEqual(gcra({ limit: 10, window: "1h", notifyAt: [0.8, 1] }));
});
