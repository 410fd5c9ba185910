import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, inject } from "vitest";

/** A client of the run's Redis for the tests of a suite. */
export function useRedis(): Redis {
  const redis = new Redis(inject("redisSocket"));
  afterAll(() => {
    redis.disconnect();
  });
  return redis;
}

/** A prefix that nobody else has: suites share the server. */
export function uniquePrefix(): string {
  return `http-${randomBytes(6).toString("hex")}`;
}
