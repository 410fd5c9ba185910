import { Redis } from "ioredis";
import { inject, onTestFinished } from "vitest";

/** A client of a server that is not there, until the test ends. */
export function redisThatIsAway(): Redis {
  const redis = new Redis(`${inject("redisSocket")}.none`, { retryStrategy: () => null });
  redis.on("error", () => {});
  onTestFinished(() => redis.disconnect());
  return redis;
}
