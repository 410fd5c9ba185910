import { expect, test } from "vitest";
import { parseLogTime } from "./log-time.ts";

function parse(text: string): number | undefined {
  return parseLogTime(Buffer.from(`[${text}]`), 1);
}

test.each([
  ["17/May/2015:10:05:03 +0000", "2015-05-17T10:05:03Z"],
  ["17/May/2015:10:05:03 +0530", "2015-05-17T04:35:03Z"],
  ["31/Dec/2015:23:30:00 -0800", "2016-01-01T07:30:00Z"],
  ["29/Feb/2024:00:00:00 +0000", "2024-02-29T00:00:00Z"],
  ["30/Jun/2015:23:59:60 +0000", "2015-07-01T00:00:00Z"],
  ["01/Jan/1970:00:00:00 +0000", "1970-01-01T00:00:00Z"],
  ["31/Dec/2199:23:59:59 +0000", "2199-12-31T23:59:59Z"],
])("the time %s is %s", (text, moment) => {
  expect(parse(text)).toBe(Date.parse(moment));
});

test.each([
  "29/Feb/2023:00:00:00 +0000",
  "32/May/2015:10:05:03 +0000",
  "33/May/2015:10:05:03 +0000",
  "00/May/2015:10:05:03 +0000",
  "17/Mai/2015:10:05:03 +0000",
  "17/May/2015:24:05:03 +0000",
  "17/May/2015:10:60:03 +0000",
  "17/May/2015:10:05:61 +0000",
  "1x/May/2015:10:05:03 +0000",
  "17/May/2015:10:05:03",
  "17/May/2015 10:05:03 +0000",
  "17/May/2015:10:05:03 +9900",
  "17/May/2015:10:05:03 00000",
  "01/Jan/1970:00:00:00 +0100",
  "01/Jan/2200:00:00:00 +0000",
  "01/Jan/0070:00:00:00 +0000",
  "",
])("%j is not a time", (text) => {
  expect(parse(text)).toBeUndefined();
});

test("an invalid day does not affect the cached day", () => {
  const day = parse("31/May/2015:00:00:00 +0000");
  expect(parse("32/May/2015:00:00:00 +0000")).toBeUndefined();
  expect(parse("31/May/2015:00:00:00 +0000")).toBe(day);
  expect(parse("01/Jun/2015:00:00:00 +0000")).toBe(Date.UTC(2015, 5, 1));
});
