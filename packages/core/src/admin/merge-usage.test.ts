import { expect, test } from "vitest";
import { mergeTopSubjects } from "./merge-usage.ts";

test("a subject that is in each of several lists has the sum of its counts, with no wider bounds", () => {
  const list = (count: number, error: number) => ({
    total: 100,
    missed: 0,
    floor: 10,
    subjects: [{ member: "default ann", count, error }],
  });
  expect(mergeTopSubjects([list(30, 2), list(40, 3)])).toEqual({
    top: [{ dimension: "default", subject: "ann", count: 65, error: 5 }],
    total: 200,
    maxUnlisted: 20,
  });
});
