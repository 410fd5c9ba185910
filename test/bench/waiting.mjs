// What a wait costs with Redis at a distance: calls that arrive evenly at a limit far above their rate, and a crowd that comes at once.
//
//   node test/bench/waiting.mjs [--distance ms]
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { RateLimiterQueue, RateLimiterRedis } from "rate-limiter-flexible";
import { startRedis } from "./start-redis.mjs";
import { median } from "./statistics.mjs";

const { values } = parseArgs({ options: { distance: { type: "string", default: "10" } } });
const distance = Number(values.distance);
const LIMIT = 10_000;
const RATE = 150;
const CALLS = 450;
const CROWD = 500;

const redis = await startRedis();
const port = await startProxy();
const client = new Redis(port);

const limiter = createLimiter({
  name: "evenly",
  limits: gcra({ limit: LIMIT, window: "1s" }),
  store: redisStore(client),
  storeTimeout: "5s",
});
await limiter.ready();
const flexible = new RateLimiterQueue(
  new RateLimiterRedis({ storeClient: client, points: LIMIT, duration: 1, keyPrefix: "flexible" }),
  { maxQueueSize: CROWD },
);
const contestants = {
  "Headgate, consume (does not wait)": () => limiter.consume("consume"),
  "Headgate, wait": () => limiter.wait("wait"),
  "rate-limiter-flexible, RateLimiterQueue": () => flexible.removeTokens(1, "queue"),
};

/** How long each call takes, in milliseconds, if the calls arrive evenly. */
async function evenly(call) {
  const times = [];
  const calls = [];
  const start = performance.now();
  for (let i = 0; i < CALLS; i += 1) {
    await delay(Math.max(0, start + (i * 1_000) / RATE - performance.now()));
    const from = performance.now();
    calls.push(call().then(() => times.push(performance.now() - from)));
  }
  await Promise.all(calls);
  return median(times);
}

/** How long a crowd takes until the last of it is admitted, in milliseconds. */
async function atOnce(call) {
  const from = performance.now();
  await Promise.all(Array.from({ length: CROWD }, call));
  return performance.now() - from;
}

for (const [name, call] of Object.entries(contestants)) {
  await call();
  const each = await evenly(call);
  const all = await atOnce(call);
  console.log(
    `${name}: ${each.toFixed(0)} ms a call at ${RATE} a second; ${CROWD} at once in ${all.toFixed(0)} ms`,
  );
}

process.exit();

/** Starts a proxy before Redis; requests and replies each take half of the distance. Returns its port. */
async function startProxy() {
  const proxy = createServer((near) => {
    const far = connect(redis.port, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      from.on("data", (bytes) => setTimeout(() => to.write(bytes), distance / 2));
      from.on("close", () => to.destroy()).on("error", () => {});
    }
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return proxy.address().port;
}
