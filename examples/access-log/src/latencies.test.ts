import { expect, test } from "vitest";
import { Latencies } from "./latencies.ts";

test("percentiles are measured times", () => {
  const latencies = new Latencies();
  for (let n = 100; n >= 1; n -= 1) latencies.add(n);
  expect(latencies.percentile(0.5)).toBe(50);
  expect(latencies.percentile(0.99)).toBe(99);
  latencies.add(0.5);
  expect(latencies.percentile(0.5)).toBe(50);
  expect(latencies.percentile(1)).toBe(100);
});

test("without calls there is no percentile", () => {
  expect(new Latencies().percentile(0.5)).toBeNull();
});
