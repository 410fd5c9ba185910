// One of the processes: it reads its pages, ten at a time.

import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { limitFetch } from "@headgate/fetch";
import { Redis } from "ioredis";

const [api, ...pages] = process.argv.slice(2);
const url = process.env["REDIS_URL"];
if (url === undefined) throw new Error("REDIS_URL must say where Redis is");

/** The credentials, by names that may be seen: the token itself is no subject. */
const CREDENTIALS = { first: "secret-1", second: "secret-2" };

const redis = new Redis(url);
const limiter = createLimiter({
  name: "api-crawler",
  // Yours is `limit: 5_000, window: "1h"`. The windows of the mock server end on a whole second, up to a second late.
  limits: fixedWindow({ limit: 50, window: "2s" }),
  store: redisStore(redis, { prefix: "hg-example" }),
});

/** A fetch for each credential. A crawler may wait for a new hour, which is longer than the 30 seconds of a default. */
const clients = Object.entries(CREDENTIALS).map(([name, token]) => {
  const send = limitFetch({ limiter, key: () => name, timeout: "2h" });
  const headers = { authorization: `Bearer ${token}` };
  return (/** @type {string} */ path) => send(`${api}${path}`, { headers });
});

let read = 0;

/** @param {(path: string) => Promise<Response>} client */
async function work(client) {
  for (let page = pages.pop(); page !== undefined; page = pages.pop()) {
    const response = await client(`/repos/acme/${page}`);
    if (!response.ok) throw new Error(`page ${page}: ${response.status}`);
    await response.json();
    read += 1;
  }
}

// Whoever has budget left takes the next page. Five at a time for each credential keep the line short.
await Promise.all(clients.flatMap((client) => Array.from({ length: 5 }, () => work(client))));
process.send?.(read);
await limiter.close();
await redis.quit();
process.disconnect();
