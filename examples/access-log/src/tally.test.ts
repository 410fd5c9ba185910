import { expect, test } from "vitest";
import { Tally } from "./tally.ts";

test("the most often denied come first, equals by name, the others not at all", () => {
  const tally = new Tally();
  for (const word of ["b-", "a-", "a+", "c-", "c-", "d+"]) {
    tally.count(word.charAt(0), word.endsWith("+"));
  }
  expect([tally.admitted, tally.denied]).toEqual([2, 4]);
  expect(tally.deniedClients()).toEqual([
    { client: "c", requests: 2, admitted: 0, denied: 2 },
    { client: "a", requests: 2, admitted: 1, denied: 1 },
    { client: "b", requests: 1, admitted: 0, denied: 1 },
  ]);
});
