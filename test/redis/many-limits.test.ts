import { createLimiter, fixedWindow, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { useOwnDatabase } from "../support/own-database.ts";

const redis = useOwnDatabase();

test("a sliding log is counted correctly in a script with many limits", async () => {
  const limits = Array.from({ length: 30 }, (_, i) => fixedWindow({ limit: 9 + i, window: "1h" }));
  const named = limits.map((limit, i) => ({ ...limit, name: `window ${i}` }));
  const limiter = createLimiter({
    name: "many",
    store: redisStore(redis),
    limits: [slidingLog({ limit: 2, window: "1h", name: "log" }), ...named],
    storeTimeout: "10s",
  });
  const decisions = [];
  for (let i = 0; i < 3; i += 1) decisions.push(await limiter.consume("u"));
  expect(decisions.map(({ source, allowed }) => [source, allowed])).toEqual([
    ["store", true],
    ["store", true],
    ["store", false],
  ]);
  await limiter.close();
});
