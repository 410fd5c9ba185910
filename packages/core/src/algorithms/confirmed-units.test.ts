import { describe, expect, test } from "vitest";
import type { Limit } from "../common/policy.ts";
import type { CompiledLimit } from "./algorithm.ts";
import { compileLimit } from "./compile-policy.ts";
import { concurrency } from "./concurrency.ts";
import { fixedWindow } from "./fixed-window.ts";
import { gcra } from "./gcra.ts";
import { slidingLog } from "./sliding-log.ts";
import { slidingWindow } from "./sliding-window.ts";
import { tokenBucket } from "./token-bucket.ts";

const SECOND = 1_000_000;
const MOST = 2_000_000_000;
const block = "1h" as const;
const another = Number.POSITIVE_INFINITY;

/** A limit that blocks by what is kept, on a clock of its own. */
function open(limit: Limit) {
  const { algorithm, quota } = compileLimit(limit, "settle") as CompiledLimit;
  const state = algorithm.createState(quota);
  let now = 1_800_000_000 * SECOND;
  algorithm.advance(state, quota, 0, now);
  return {
    pass(elapsed: number) {
      now += elapsed;
      algorithm.advance(state, quota, elapsed, now);
    },
    spend: (cost: number) => algorithm.spend(state, quota, cost),
    refund: (cost: number, age: number) => algorithm.refund(state, quota, cost, age),
    keep: (units: number, charged: number, age: number) =>
      algorithm.confirm?.(state, quota, units, charged, age),
    copy: () => algorithm.copyState(state),
    read: (...numbers: number[]) => algorithm.readState(numbers, quota, now),
    left: () => algorithm.report(state, quota).remaining,
    kept: () => algorithm.confirmedUnits?.(state),
  };
}

describe.each([
  ["a window", fixedWindow({ limit: 5, window: "1m", block }), 60 * SECOND],
  ["a window by the clock", fixedWindow({ limit: 5, window: "1m", align: "clock", block }), 60e6],
  ["a day", fixedWindow({ limit: 5, window: "day", block }), 86_400 * SECOND],
] as const)("of %s", (_, limit, length) => {
  test("confirmed units are counted separately from used ones, until the window ends", () => {
    const window = open(limit);
    window.spend(4);
    window.keep(1, 1, 0);
    window.pass(SECOND);
    window.keep(2, 2, SECOND);
    expect([window.kept(), window.left()]).toEqual([3, 1]);
    expect(window.refund(1, SECOND)).toBe(true);
    expect([window.kept(), window.left()]).toEqual([3, 2]);
    window.pass(length);
    expect([window.kept(), window.left()]).toEqual([0, 5]);
  });

  test("units charged in an earlier window count in the window that confirms them", () => {
    const window = open(limit);
    window.spend(1);
    window.pass(length);
    window.keep(1, 1, length);
    expect([window.kept(), window.left()]).toEqual([1, 4]);
    window.keep(2, 2, another);
    expect([window.kept(), window.left()]).toEqual([3, 2]);
    // What is settled for more was charged by then, and what is settled for less is given back.
    window.keep(9, 1, another);
    expect([window.kept(), window.left()]).toEqual([12, 1]);
    window.keep(1, 7, another);
    expect([window.kept(), window.left()]).toEqual([13, 0]);
  });

  test("confirmed units do not exceed the maximum of a counter", () => {
    const window = open(limit);
    window.spend(MOST);
    window.keep(Number.MAX_SAFE_INTEGER, 1, another);
    expect([window.kept(), window.left()]).toEqual([MOST, 5 - MOST]);
  });

  test("a copied and a read state have the same confirmed units", () => {
    const window = open(limit);
    window.spend(3);
    window.keep(2, 2, 0);
    const { shape } = compileLimit(limit, "settle");
    expect(shape.state.at(-1)).toEqual(["confirmed", 4]);
    expect(window.copy()).toMatchObject({ used: 3, confirmed: 2 });
    const numbers = shape.state.map((_, i) => 10 + i);
    expect(window.read(...numbers)).toMatchObject({ used: 10, confirmed: 9 + numbers.length });
  });
});

test("blocking on settle is part of the shape of a limit that blocks", () => {
  const plain = fixedWindow({ limit: 5, window: "1m" });
  const ids = [plain, { ...plain, block }].flatMap((limit) =>
    (["denial", "settle"] as const).map((blockOn) => compileLimit(limit, blockOn)),
  );
  expect(ids.map(({ shape }) => shape.id)).toEqual([
    "fixedWindow(60000000,first)",
    "fixedWindow(60000000,first)",
    "fixedWindow(60000000,first)!",
    "fixedWindow(60000000,first)!kept",
  ]);
  expect(new Set(ids.map(({ canonical }) => canonical)).size).toBe(3);
  expect(
    ids.map(({ shape }) => [shape.blocksOnDenial === true, shape.blocksOnSettle === true]),
  ).toEqual([
    [false, false],
    [false, false],
    [true, false],
    [false, true],
  ]);
});

test.each([
  gcra({ limit: 5, window: "1m", block }),
  tokenBucket({ capacity: 5, refill: 1, every: "1m", block }),
  slidingWindow({ limit: 5, window: "1m", block }),
  slidingLog({ limit: 5, window: "1m", block }),
])("blocking on settle is refused for a $algorithm with a block", (limit) => {
  const named = { ...limit, name: "tries" };
  expect(() => compileLimit(named, "settle")).toThrow(
    expect.objectContaining({
      code: "HEADGATE_INVALID_OPTION",
      message: `count and blockOn: "settle" can be used with block only where the limit is a fixedWindow; the limit "tries" is a ${limit.algorithm}. Use a fixedWindow, or block: { after, for }, or leave them out and refund requests that should not count: limit.decisionOf(request).refund(). For failures in a sliding window, take two limits, as "Failures in a sliding window" of the docs on blocks shows`,
    }),
  );
  const { block: _, ...plain } = named;
  expect(compileLimit(plain as Limit, "settle").shape.blocksOnSettle).toBeUndefined();
});

test("blocking on settle does not change a concurrency limit", () => {
  expect(compileLimit(concurrency({ limit: 5, ttl: "1m" }), "settle").shape.blocksOnSettle).toBe(
    undefined,
  );
});
