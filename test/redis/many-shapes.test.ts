import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect, onTestFinished, test } from "vitest";
import { uniquePrefix } from "../http/support/redis-client.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { STORE_ALONE } from "./store-alone.ts";

const redis = useOwnDatabase();

/** More than a store has lines for, so that the oldest are closed with calls that wait in them. */
const SHAPES = 1_100;

test("calls of more shapes than the store has batchers are all answered, and each shape keeps its count", async () => {
  const limiter = createLimiter({
    ...STORE_ALONE,
    name: "many",
    limits: fixedWindow({ limit: 5, window: "1h" }),
    store: redisStore(redis, { prefix: uniquePrefix() }),
  });
  onTestFinished(() => limiter.close());
  for (const remaining of [4, 3]) {
    const decisions = await Promise.all(
      Array.from({ length: SHAPES }, (_, i) =>
        limiter.consume("ada", { limits: fixedWindow({ limit: 5, window: 10_000_000 + i }) }),
      ),
    );
    expect(new Set(decisions.map((decision) => decision.source))).toEqual(new Set(["store"]));
    expect(new Set(decisions.map((decision) => decision.remaining))).toEqual(new Set([remaining]));
  }
});
