import { Redis } from "ioredis";
import { inject, onTestFinished } from "vitest";

/** Creates a client of a server that does not exist. The client disconnects when the test ends. */
export function unreachableRedis(): Redis {
  const redis = new Redis(`${inject("redisSocket")}.none`, { retryStrategy: () => null });
  redis.on("error", () => {});
  onTestFinished(() => redis.disconnect());
  return redis;
}
