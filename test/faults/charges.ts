import { createLimiter } from "@headgate/core";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { limits } from "./callers/policy.ts";

/** How many units the store holds against subjects of a limiter, as another process would see it. */
export async function chargedIn(
  admin: RedisClient,
  name: string,
  subjects: readonly string[],
): Promise<number> {
  // Hundreds of questions at once, on a machine that may be busy.
  const storeTimeout = "10s";
  const limiter = createLimiter({ name, limits, store: redisStore(admin), storeTimeout });
  try {
    const seen = await Promise.all(subjects.map((subject) => limiter.peek(subject)));
    if (seen.some(({ degraded }) => degraded)) throw new Error("the store could not be read");
    // What would remain after the question, so an allowed one is not held against anybody.
    return seen.reduce(
      (sum, { limit, remaining, allowed }) => sum + limit - remaining - (allowed ? 1 : 0),
      0,
    );
  } finally {
    await limiter.close();
  }
}
