import { expect, test } from "vitest";
import { liveMebibytes } from "../../../../test/hostile/memory-use.ts";
import { Releases } from "./held-slots.ts";

const COUNTERS = 100_000;

test("counters for which no call waits any more take no memory", () => {
  const releases = new Releases();
  const before = liveMebibytes();
  for (let i = 0; i < COUNTERS; i += 1) releases.watch([`counter ${i}`], () => {})();
  const grown = liveMebibytes() - before;
  // Keeps the object alive until here.
  releases.notify([]);
  // An empty set for each of them takes 20 MiB.
  expect(grown).toBeLessThan(4);
});
