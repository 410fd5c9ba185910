import type { Limit } from "@headgate/core";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { Random } from "../conformance/random/random.ts";
import { useOwnDatabases } from "../support/own-database.ts";
import { STORE_ALONE } from "./store-alone.ts";

/** Callers at once, each with a client of its own. */
const CALLERS = 8;
const LIMIT = 5_000;

/** No unit comes back while a test runs. */
const window = "366d";

const clients = useOwnDatabases(CALLERS);

describe("eight callers at once that take what is left", () => {
  test.each<[name: string, limits: readonly Limit[]]>([
    ["gcra", [gcra({ limit: LIMIT, window })]],
    ["tokenBucket", [tokenBucket({ capacity: LIMIT, refill: 1, every: window })]],
    ["fixedWindow", [fixedWindow({ limit: LIMIT, window })]],
    ["fixedWindow by the calendar", [fixedWindow({ limit: LIMIT, window: "year" })]],
    ["slidingWindow", [slidingWindow({ limit: LIMIT, window })]],
    ["slidingWindow in buckets", [slidingWindow({ limit: LIMIT, window, buckets: 12 })]],
    ["slidingLog", [slidingLog({ limit: LIMIT, window })]],
    [
      "several limits",
      [
        gcra({ limit: LIMIT, window }),
        fixedWindow({ limit: LIMIT + 1, window }),
        slidingLog({ limit: 2 * LIMIT, window }),
        concurrency({ limit: 10_000, ttl: "1m" }),
      ],
    ],
  ])(
    "get exactly the limit of %s, whether or not others ask for a fixed cost",
    async (name, limits) => {
      const limiters = clients.map((client) =>
        createLimiter({ ...STORE_ALONE, name, limits, store: redisStore(client) }),
      );
      let granted = 0;
      const takeAll = async (seed: number): Promise<void> => {
        const random = new Random(seed);
        for (let isOver = false; !isOver; ) {
          // Several calls leave in one batch.
          const taken = await Promise.all(
            Array.from({ length: random.whole(1, 5) }, async () => {
              const limiter = limiters[seed] as (typeof limiters)[number];
              const units = random.whole(1, 60);
              if (random.chance(0.3)) {
                const { allowed } = await limiter.consume("u", { cost: units });
                return allowed ? units : undefined;
              }
              const { allowed, granted = -1 } = await limiter.consume("u", { upTo: units });
              expect(granted).toBeLessThanOrEqual(units);
              expect(granted > 0).toBe(allowed);
              if (!allowed) isOver = true;
              return granted;
            }),
          );
          for (const units of taken) granted += units ?? 0;
        }
      };
      await Promise.all(limiters.map((_, seed) => takeAll(seed)));
      expect(granted).toBe(LIMIT);
      await Promise.all(limiters.map((limiter) => limiter.close()));
    },
  );
});
