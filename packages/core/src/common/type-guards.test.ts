import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { isPlainObject, isPromiseLike } from "./type-guards.ts";

/** What a query builder looks like. */
function thenable<Value extends object>(value: Value, then: unknown): Value {
  Reflect.set(value, "then", then);
  return value;
}

test.each([
  ["a promise", Promise.resolve()],
  ["an object with a method then", thenable({}, () => {})],
  [
    "a function with one",
    thenable(
      () => {},
      () => {},
    ),
  ],
])("%s must be awaited", (_, value) => {
  expect(isPromiseLike<unknown>(value)).toBe(true);
});

test.each([
  [undefined],
  [null],
  [""],
  ["then"],
  [0],
  [false],
  [{}],
  [() => {}],
  [thenable({}, true)],
])("%j need not be awaited", (value) => {
  expect(isPromiseLike<unknown>(value)).toBe(false);
});

describe("isPlainObject", () => {
  test.each([
    {},
    { a: 1 },
    Object.create(null),
    JSON.parse('{"__proto__":1}'),
    runInNewContext("({})"),
  ])("accepts %j", (value) => {
    expect(isPlainObject(value)).toBe(true);
  });

  test.each([
    ...[null, undefined, 5, "text", [], () => 1, new Date(), new (class {})()],
    Object.create({ a: 1 }),
    runInNewContext("[]"),
  ])("refuses %s", (value) => {
    expect(isPlainObject(value)).toBe(false);
  });
});
