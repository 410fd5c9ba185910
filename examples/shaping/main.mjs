// Shaping: a partner's API takes 5 calls a second from us, so we wait for our turn in place of being refused.
//
//   npx -y pnpm@10.34.9 build
//   node examples/shaping/main.mjs

import { createLimiter, gcra } from "@headgate/core";

// With a burst of 1 the calls are spread evenly, one every 200 ms.
const limiter = createLimiter({
  name: "partner",
  limits: gcra({ limit: 5, window: "1s", burst: 1 }),
});

const start = performance.now();

/** @param {number} order */
async function callPartner(order) {
  // First come, first served. Who would rather give up than wait longer says so; `signal` gives up from outside.
  await limiter.wait("partner", { timeout: "10s" });
  console.log(`order ${order} leaves after ${Math.floor(performance.now() - start)} ms`);
  // ... and here the call is made.
}

await Promise.all([1, 2, 3, 4, 5, 6].map(callPartner));

await limiter.close();
