import { expect, test } from "vitest";
import { compileFixedWindow, fixedWindow } from "../algorithms/fixed-window.ts";
import { getShape } from "./counter-shape.ts";

const shapeOfWindow = (ms: number) =>
  getShape([compileFixedWindow(fixedWindow({ limit: 1, window: ms })).shape]);

test("equal shapes are one object while cached, and at most 1,000 are cached", () => {
  const first = shapeOfWindow(1_000_000);
  expect(shapeOfWindow(1_000_000)).toBe(first);
  for (let i = 1; i <= 999; i += 1) shapeOfWindow(1_000_000 + i);
  expect(shapeOfWindow(1_000_000)).toBe(first);
  for (let i = 1; i <= 1_000; i += 1) shapeOfWindow(2_000_000 + i);
  const again = shapeOfWindow(1_000_000);
  expect(again).not.toBe(first);
  expect(again).toEqual(first);
});
