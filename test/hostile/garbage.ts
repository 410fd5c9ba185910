import { fc } from "@fast-check/vitest";
import type { HeadgateErrorCode } from "@headgate/core";
import { ERROR_CODES } from "@headgate/core";
import { expect } from "vitest";
import { hostileText } from "./hostile-texts.ts";

/** Values of every kind that are invalid, or nearly valid, as arguments. */
export const garbage: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[undefined, null, true, false, Number.NaN, Number.POSITIVE_INFINITY, -0, 0, -1, 0.5, 1e-7],
    ...[
      2 ** 31,
      2 ** 53,
      2 ** 53 - 1,
      -(2 ** 53),
      1e9,
      1e9 + 1,
      1e21,
      Number.MIN_VALUE,
      1n,
      10n ** 30n,
    ],
    ...[
      "",
      " ",
      "1",
      "0x10",
      "1m",
      "1e3ms",
      "007s",
      "-1s",
      "1.5s",
      "١m",
      "1 m",
      "1M",
      "366d",
      "367d",
    ],
    ...[
      "999999999999999ms",
      "9".repeat(400),
      "gcra",
      "__proto__",
      "constructor",
      "toString",
      "default",
    ],
    ...[[], {}, [[]], [undefined], () => 1, async () => 1, class {}, Symbol("x"), Symbol.iterator],
    ...[new Date(Number.NaN), new Map(), new Number(5), new String("1m"), /x/, new Error("x")],
    ...[Object.create(null), { valueOf: () => 5 }, { toString: () => "1m" }, { toJSON: fail }],
    ...[
      JSON.parse('{"__proto__":{"limit":1}}'),
      {
        get limit() {
          return fail();
        },
        // fast-check would read the property to print a failing value.
        [fc.toStringMethod]: () => "{ get limit() }",
      },
    ],
  ),
  fc.integer(),
  fc.double(),
  fc.bigInt(),
  hostileText,
  fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withObjectString: true,
    withSparseArray: true,
    withTypedArray: true,
  }),
);

function fail(): never {
  throw new Error("must not be called");
}

/** Adds the given properties to valid ones, as a spread does, but without calling their getters. */
export function addGarbage(right: object, given: unknown): object {
  const properties = Object.entries(Object.getOwnPropertyDescriptors(Object(given)));
  const enumerable = properties.filter(([, property]) => property.enumerable);
  return Object.defineProperties(right, Object.fromEntries(enumerable));
}

/** Returns the result of `run`, or undefined if it throws; the error must be a HeadgateError with a documented code. */
export function orCode<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    expectCode(error);
    return undefined;
  }
}

/** Expects a rejection with a HeadgateError, and with one of these codes if there are any. */
export async function expectRejection(
  rejecting: Promise<unknown>,
  ...codes: HeadgateErrorCode[]
): Promise<void> {
  const [{ status, ...outcome }] = await Promise.allSettled([rejecting]);
  expect(status).toBe("rejected");
  expectCode((outcome as { reason?: unknown }).reason, ...codes);
}

export function expectCode(error: unknown, ...codes: HeadgateErrorCode[]): void {
  const { name, code, message } = error as { name: string; code: string; message: string };
  if (name !== "HeadgateError") throw error;
  expect(Object.keys(ERROR_CODES)).toContain(code);
  if (codes.length > 0) expect(codes).toContain(code);
  // A message is a single line of a log, even if it quotes a value.
  expect(message.length).toBeLessThan(1_000);
  expect([...message].every((sign) => sign >= " ")).toBe(true);
}
