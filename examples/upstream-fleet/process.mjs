// One process of the fleet: calls the upstream when it is told to.

import { subscribe } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import { BREAKER_CHANNELS, createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const [url = "", target = ""] = process.argv.slice(2);
const redisUrl = process.env["REDIS_URL"];
if (redisUrl === undefined) throw new Error("REDIS_URL must say where Redis is");

const redis = new Redis(redisUrl);
// The same name on the same Redis: the same breaker.
const breaker = createBreaker({
  name: "upstream-fleet",
  store: redisStore(redis, { prefix: "hg-example" }),
  storeTimeout: "1s",
  openFor: "1s",
  trialCalls: 5,
});
const upstream = breaker.for(target);

/** @type {import("@headgate/breaker").BreakerStateChange | undefined} */
let change;
subscribe(BREAKER_CHANNELS.state, (message) => {
  change = /** @type {import("@headgate/breaker").BreakerStateChange} */ (message);
});

/** @param {string} state */
async function callUntil(state) {
  let made = 0;
  while (change?.to !== state) {
    const call = async () => {
      if (change?.to === state) return;
      made += 1;
      const response = await fetch(url);
      if (!response.ok) throw new Error(`the upstream answered ${response.status}`);
    };
    await upstream.run(call, { fallback: () => {} });
    await delay(10);
  }
  process.send?.({ ...change, made });
}

async function end() {
  await breaker.close();
  await redis.quit();
  process.disconnect();
}

process.on("message", (/** @type {string} */ word) => {
  void (word === "end" ? end() : callUntil(word));
});

await redis.ping();
process.send?.("ready");
