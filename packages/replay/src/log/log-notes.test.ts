import { expect, test } from "vitest";
import { formatEvictionCaveat, formatLogCaveats, formatOrder } from "./log-notes.ts";

test("a log out of order is said to be sorted, and what that means for the result", () => {
  expect(formatOrder({ reordered: 0 })).toBeUndefined();
  expect(formatOrder({ reordered: 1 })).toBe(
    "1 request was out of order in the log. It was sorted by time before the replay, so this does not affect the result.",
  );
  expect(formatOrder({ reordered: 9_447 })).toBe(
    "9,447 requests were out of order in the log. They were sorted by time before the replay, so this does not affect the result.",
  );
});

test("skipped lines, late requests and full memory are said with what they mean for the result", () => {
  expect(formatLogCaveats({ malformed: 0, late: 0 })).toEqual([]);
  expect(formatLogCaveats({ malformed: 1, late: 1 })).toEqual([
    "1 line skipped: not a request.",
    "1 request was too far out of order to be sorted. It counts at the time of the request before it, so denials near it may be wrong.",
  ]);
  expect(formatLogCaveats({ malformed: 2, late: 3 })).toEqual([
    "2 lines skipped: not requests.",
    "3 requests were too far out of order to be sorted. Each counts at the time of the request before it, so denials near it may be wrong.",
  ]);
  expect(formatEvictionCaveat(4)).toBe(
    "The memory was full: 4 times, the count of a client started over. More requests may be denied than the result shows.",
  );
});
