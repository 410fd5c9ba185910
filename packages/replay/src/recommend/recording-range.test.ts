import { expect, test } from "vitest";
import { Recording, splitInHalf } from "./recording.ts";

function cutOf(...times: readonly number[]): number | undefined {
  const recording = new Recording();
  recording.add(times.map((time) => ({ time, client: "192.0.2.1", method: "", path: "" })));
  const halves = splitInHalf(recording);
  expect(halves?.[0].start ?? 0).toBe(0);
  expect(halves?.[1].end ?? times.length).toBe(times.length);
  expect(halves?.[1].start).toBe(halves?.[0].end);
  return halves?.[0].end;
}

test("halves are equally long, but do not separate requests with the same time", () => {
  expect(cutOf(1, 2, 3, 4)).toBe(2);
  expect(cutOf(1, 2, 2, 2, 3)).toBe(1);
  expect(cutOf(1, 1, 1, 2)).toBe(3);
  expect(cutOf(1, 1, 1)).toBeUndefined();
  expect(cutOf(1)).toBeUndefined();
});
