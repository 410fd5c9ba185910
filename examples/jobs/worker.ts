// A worker of a fleet. All workers together start ten jobs a second, and run three at a time.

import { setTimeout as delay } from "node:timers/promises";
import { concurrency, createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
// BLPOP keeps a connection busy, so the limiter has the other one.
const queue = redis.duplicate();

const limiter = createLimiter({
  name: "partner-jobs",
  store: redisStore(redis),
  limits: [
    // After so many milliseconds without a sign of life from its process a place is free again.
    concurrency({ limit: 3, ttl: Number(process.env["TTL_MS"] ?? 30_000) }),
    gcra({ limit: 10, window: "1s", burst: 1 }),
  ],
  // A job can wait for a slow Redis. While Redis is unavailable no job starts.
  storeTimeout: "1s",
  onUnavailable: "deny",
});

/** Your job. It stops when `signal` aborts: then its place is lost, and another worker may have it. */
async function work(job: string, signal: AbortSignal): Promise<void> {
  console.log(`start ${job}`);
  await delay(Number(process.env["JOB_MS"] ?? 1_000), undefined, { signal });
  console.log(`end ${job}`);
}

let isStopping = false;
process.once("SIGTERM", () => {
  isStopping = true;
});

// Each second it looks whether it is to stop: the job that runs is finished first.
while (!isStopping) {
  const [, job] = (await queue.blpop("jobs", 1)) ?? [];
  if (job === undefined) continue;
  await limiter
    .run("partner", ({ signal }) => work(job, signal))
    .catch((error) => console.error(`${job} failed`, error));
}
await limiter.close();
redis.disconnect();
queue.disconnect();
