import { expect, test } from "vitest";
import { TextTable } from "./text-table.ts";

test("equal texts have one number, and no text has the number 0", () => {
  const texts = new TextTable(10_000);
  expect(["/a", "/b", "/a", ""].map((text) => texts.add(text))).toEqual([1, 2, 1, 0]);
  expect([0, 1, 2].map((number) => texts.textOf(number))).toEqual(["", "/a", "/b"]);
});

test("texts that a table has no room for have the number 0, and known texts keep theirs", () => {
  const texts = new TextTable(1_000);
  const numbers = Array.from({ length: 100 }, (_, i) => texts.add(`/${i}`));
  expect(numbers.slice(0, 7)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(new Set(numbers.slice(7))).toEqual(new Set([0]));
  expect(texts.add("/3")).toBe(4);
});

test("a table has at most 65,535 texts, whose numbers fit into 16 bits", () => {
  const texts = new TextTable(Number.POSITIVE_INFINITY);
  for (let i = 1; i < 65_535; i += 1) texts.add(`/${i}`);
  expect(["/last", "/more"].map((text) => texts.add(text))).toEqual([65_535, 0]);
});
