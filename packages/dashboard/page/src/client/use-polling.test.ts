import { expect, test } from "vitest";
import { cachedView, cacheView } from "./use-polling.ts";

test("the 20 views with the latest responses are cached", () => {
  for (let i = 0; i < 20; i += 1) cacheView(`${i}`, i);
  cacheView("0", "again");
  cacheView("new", "new");
  expect(["0", "1", "2", "new"].map(cachedView)).toEqual(["again", undefined, 2, "new"]);
});
