import { expect, test } from "vitest";
import { chooseWindow, excessOf, readWindows } from "./choose-window.ts";

function tightestOf(units: Readonly<Record<string, number>>, tooShort: readonly string[] = []) {
  return readWindows(Object.keys(units)).map((window) => ({
    window,
    units: units[window.text] as number,
    isLogLongEnough: !tooShort.includes(String(window.text)),
  }));
}

test("the chosen window has the smallest larger excess", () => {
  const all = tightestOf({ "1s": 10, "1m": 40, "1h": 500 });
  expect(excessOf(all)).toEqual([
    { excessAtOnce: 1, excessOverTime: 72 },
    { excessAtOnce: 4, excessOverTime: 4.8 },
    { excessAtOnce: 50, excessOverTime: 1 },
  ]);
  expect(chooseWindow(all)).toBe(1);
});

test("a window for which the log is too short is not chosen, nor compared with", () => {
  const all = tightestOf({ "1s": 10, "1m": 40, "1h": 41, "1d": 41 }, ["1h", "1d"]);
  expect(chooseWindow(all)).toBe(1);
  expect(excessOf(all)[1]).toEqual({ excessAtOnce: 4, excessOverTime: 1 });
});

test("if the log is too short for all windows, all are considered", () => {
  expect(chooseWindow(tightestOf({ "1h": 5 }, ["1h"]))).toBe(0);
});
