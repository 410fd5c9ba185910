// An upstream behind a breaker: when most calls to it fail it is left alone for a while, and a fallback answers.
//
//   npx -y pnpm@10.34.9 build
//   node examples/fastify-upstream/server.mjs        (with REDIS_URL=redis://... all processes share what one learns)
//   curl -i http://localhost:3000/prices/tea         the upstream's price
//   curl -X PUT http://127.0.0.1:.../fail            the URL that it prints: now it fails; with /work it works again
//   curl -i http://localhost:3000/prices/tea         (ten times) the last price, soon without asking for it
//   curl -i http://localhost:3000/orders/tea         a route without a fallback: 503, and when to ask again

import { subscribe } from "node:diagnostics_channel";
import { BREAKER_CHANNELS, createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { startUpstream } from "../upstream.mjs";

const app = Fastify({ logger: { level: "warn" } });
const upstream = await startUpstream();

const redisUrl = process.env["REDIS_URL"];
const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
redis?.on("error", (error) => app.log.warn(error));

const breaker = createBreaker({
  name: "fastify-upstream",
  store: redis && redisStore(redis, { prefix: "hg-example" }),
  // Short times, to see them pass. The defaults are five minutes, 20 calls and 30 seconds.
  window: "10s",
  minimumCalls: 4,
  openFor: "2s",
  trialCalls: 2,
});

subscribe(BREAKER_CHANNELS.state, (change) => app.log.warn(change, "the upstream's breaker"));

/** @type {Map<string, unknown>} */
const lastPrices = new Map();

/** @param {string} item @param {AbortSignal} signal */
async function askFor(item, signal) {
  const response = await fetch(`${upstream}/prices/${item}`, { signal });
  // A thrown error is a failure. A 404 would be an ordinary response.
  if (response.status >= 500) throw new Error(`the upstream answered ${response.status}`);
  lastPrices.set(item, await response.json());
  return lastPrices.get(item);
}

app.get("/prices/:item", (request) => {
  const { item } = /** @type {{ item: string }} */ (request.params);
  return breaker.run(({ signal }) => askFor(item, signal), {
    timeout: "1s",
    fallback: ({ reason }) => ({ last: lastPrices.get(item), reason }),
  });
});

app.get("/orders/:item", (request) => {
  const { item } = /** @type {{ item: string }} */ (request.params);
  return breaker.run(({ signal }) => askFor(item, signal), { timeout: "1s" });
});

app.setErrorHandler((error, _request, reply) => {
  const { code, retryAfterMs } =
    /** @type {import("@headgate/breaker").HeadgateBreakerOpenError} */ (error);
  if (code !== "HEADGATE_BREAKER_OPEN") throw error;
  // Forced open: the end is unknown.
  if (Number.isFinite(retryAfterMs)) reply.header("retry-after", Math.ceil(retryAfterMs / 1_000));
  return reply.code(503).send({ error: "the upstream is down" });
});

app.addHook("onClose", async () => {
  await breaker.close();
  await redis?.quit();
});

console.log(`the upstream is ${upstream}`);
console.log(`listening on ${await app.listen({ port: Number(process.env["PORT"] ?? 3000) })}`);
