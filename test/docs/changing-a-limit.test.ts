import type { Limit } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { describe, expect, test } from "vitest";
import { page, section, tablesOf } from "./markdown.ts";

const window = "1m";
const [waits] = tablesOf(section(page("docs/understand/guarantees.md"), "Changing a limit"));

const ROWS: Readonly<Record<string, ReadonlyArray<(limit: number) => Limit>>> = {
  "`gcra`, `tokenBucket`": [
    (limit) => gcra({ limit, window }),
    (limit) => tokenBucket({ capacity: limit, refill: limit, every: window }),
  ],
  "`fixedWindow`": [(limit) => fixedWindow({ limit, window })],
  "`slidingWindow`": [(limit) => slidingWindow({ limit, window })],
  "`slidingWindow` with 10 buckets": [(limit) => slidingWindow({ limit, window, buckets: 10 })],
  "`slidingLog`": [(limit) => slidingLog({ limit, window })],
};

describe("docs/understand/guarantees.md says how long a client is denied after a limit was lowered", () => {
  test("with each algorithm", () => {
    expect(waits?.rows.map(([what]) => what)).toEqual(Object.keys(ROWS));
  });

  test.each(waits?.rows ?? [])("%s: %s", async (what = "", atMost = "") => {
    for (const limitOf of ROWS[what] ?? []) {
      // The start of a window, from which the change takes the longest.
      const store = memoryStore({ clock: () => 1_800_000_000_000 });
      const before = createLimiter({ name: "api", store, limits: limitOf(1_000) });
      expect(await before.consume("ada", { cost: 1_000 })).toMatchObject({ allowed: true });
      await before.close();
      const after = createLimiter({ name: "api", store, limits: limitOf(10) });
      const { retryAfterMs, limits } = await after.peek("ada");
      expect(limits).toMatchObject([{ remaining: 0, overdrawn: 990 }]);
      const minutes = retryAfterMs / 60_000;
      expect(minutes).toBeLessThanOrEqual(Number.parseFloat(atMost));
      expect(minutes / Number.parseFloat(atMost)).toBeGreaterThan(0.99);
    }
  });
});
