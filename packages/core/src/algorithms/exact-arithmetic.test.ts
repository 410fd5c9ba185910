import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { byteSizeBelow, mulDiv, mulDivRemainder } from "./exact-arithmetic.ts";

/** The largest operand mulDiv takes. */
const TOP = 2 ** 45 - 1;

/** Whole numbers of every length in bits, so that small and large products are equally likely. */
function numbers(bits: number): fc.Arbitrary<number> {
  return fc.integer({ min: 1, max: bits }).chain((n) => fc.integer({ min: 0, max: 2 ** n - 1 }));
}

function expectExact(a: number, b: number, n: number): void {
  const whole = mulDiv(a, b, n);
  const product = BigInt(a) * BigInt(b);
  expect([whole, mulDivRemainder], `${a} * ${b} / ${n}`).toEqual([
    Number(product / BigInt(n)),
    Number(product % BigInt(n)),
  ]);
}

describe("mulDiv", () => {
  test.prop([numbers(45), numbers(45), numbers(45)], { numRuns: 20_000 })(
    "is exact for every a <= n and b below 2^45",
    (x, b, y) => {
      expectExact(Math.min(x, y), b, Math.max(x, y, 1));
    },
  );

  test.prop([numbers(53), numbers(45), numbers(45)], { numRuns: 5_000 })(
    "is exact for every a whose units are below 2^53",
    (a, b, n) => {
      const isInRange = BigInt(a) * BigInt(b) < BigInt(Math.max(n, 1)) * 2n ** 53n;
      if (isInRange) expectExact(a, b, Math.max(n, 1));
    },
  );

  test.prop([numbers(52), fc.integer({ min: 0, max: 3 }), fc.integer({ min: -1, max: 1 })], {
    numRuns: 20_000,
  })("is exact beside the largest multiples of n below 2^53", (some, below, beside) => {
    const n = some + 1;
    const product = (Math.floor(Number.MAX_SAFE_INTEGER / n) - below) * n + beside;
    if (product >= 0 && product <= Number.MAX_SAFE_INTEGER) expectExact(product, 1, n);
  });

  test("mulDiv is exact at the ends of its range and for products above 2^53", () => {
    const ends = [
      0,
      1,
      2,
      127,
      128,
      129,
      94_906_265,
      94_906_266,
      94_906_267,
      2 ** 44,
      TOP - 1,
      TOP,
    ];
    for (const n of ends.slice(1)) {
      for (const a of ends.filter((end) => end <= n)) {
        for (const b of ends) expectExact(a, b, n);
      }
    }
  });

  test("mulDiv is exact for the longest window with the largest quota", () => {
    const longest = 366 * 86_400_000_000;
    expectExact(999_999_999, longest, 1_000_000_000);
    expectExact(longest - 1, 999_999_999, longest);
  });
});

test.each([
  [1, 1],
  [2, 1],
  [256, 1],
  [257, 2],
  [60_000_000, 4],
  [2 ** 32, 4],
  [2 ** 32 + 1, 5],
  [366 * 86_400_000_000, 6],
])("numbers below %i fit in %i bytes", (bound, bytes) => {
  expect(byteSizeBelow(bound)).toBe(bytes);
});
