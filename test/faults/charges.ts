import { createLimiter } from "@headgate/core";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { limits } from "./callers/policy.ts";

/** Returns the units that the store has charged to subjects of a limiter, as another process reads them. */
export async function readCharges(
  admin: RedisClient,
  name: string,
  subjects: readonly string[],
): Promise<number> {
  // Hundreds of peeks run at once, on a machine that may be busy.
  const storeTimeout = "10s";
  const limiter = createLimiter({ name, limits, store: redisStore(admin), storeTimeout });
  try {
    const decisions = await Promise.all(subjects.map((subject) => limiter.peek(subject)));
    if (decisions.some(({ degraded }) => degraded)) throw new Error("the store could not be read");
    // `remaining` is the number after one more call, so an allowed peek has to be subtracted.
    return decisions.reduce(
      (sum, { limit, remaining, allowed }) => sum + limit - remaining - (allowed ? 1 : 0),
      0,
    );
  } finally {
    await limiter.close();
  }
}
