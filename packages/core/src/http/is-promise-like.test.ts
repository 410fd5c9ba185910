import { expect, test } from "vitest";
import { isPromiseLike } from "./is-promise-like.ts";

// biome-ignore lint/suspicious/noThenProperty: query builders look like this.
const thenable = { then: (resolve: (value: number) => void) => resolve(1) };

test.each([
  [Promise.resolve()],
  [Promise.reject(new Error("later")).catch(() => {}) && Promise.resolve(undefined)],
  [thenable],
  [Object.assign(() => {}, thenable)],
])("%s answers later, as await would have it", (value) => {
  expect(isPromiseLike<unknown>(value)).toBe(true);
});

test.each([[undefined], [null], [""], ["then"], [0], [false], [{}], [() => {}], [{ then: true }]])(
  "%j is known already",
  (value) => {
    expect(isPromiseLike<unknown>(value)).toBe(false);
  },
);
