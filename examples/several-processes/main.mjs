// Several processes, one Redis, one limit: four of them try for the same 100 units at once, and together they get 100.
//
//   npx -y pnpm@10.34.9 build
//   REDIS_URL=redis://127.0.0.1:6379 node examples/several-processes/main.mjs

import { fork } from "node:child_process";
import { once } from "node:events";
import { createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const PROCESSES = 4;
const TRIES = 100;

const url = process.env["REDIS_URL"];
if (url === undefined) throw new Error("REDIS_URL must say where Redis is");

// The subject comes from the parent process.
const customer = process.argv[2];
if (customer === undefined) await startAll();
else await work(url, customer);

async function startAll() {
  // A new customer at each run, so that the last run's requests do not count.
  const customer = `customer-${Date.now()}`;
  const children = Array.from({ length: PROCESSES }, () => fork(import.meta.filename, [customer]));
  const results = await Promise.all(children.map((child) => once(child, "message")));
  const admitted = results.map(([count]) => Number(count));
  console.log(`each process: ${admitted.join(" ")} of ${TRIES}`);
  console.log(`together: ${admitted.reduce((sum, count) => sum + count, 0)}`);
}

/** @param {string} url @param {string} customer */
async function work(url, customer) {
  const redis = new Redis(url);
  // The same name on the same Redis: the same counters.
  const limiter = createLimiter({
    name: "several-processes",
    limits: slidingLog({ limit: 100, window: "1m" }),
    store: redisStore(redis, { prefix: "hg-example" }),
    // All calls come before the first connection is open, and none of them should wait for it here.
    storeTimeout: "10s",
  });
  const tries = Array.from({ length: TRIES }, () => limiter.consume(customer));
  const decisions = await Promise.all(tries);
  process.send?.(decisions.filter(({ allowed }) => allowed).length);
  await limiter.close();
  await redis.quit();
  process.disconnect();
}
