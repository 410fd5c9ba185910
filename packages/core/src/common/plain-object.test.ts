import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { isPlainObject } from "./plain-object.ts";

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
