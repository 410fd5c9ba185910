import { expect, test } from "vitest";
import { isPromiseLike } from "./awaitable.ts";

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
