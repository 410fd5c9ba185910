// An upstream behind a breaker: when most calls to it fail it is left alone for a while, and a fallback answers.
//
//   npx -y pnpm@10.34.9 build
//   node examples/express-upstream/server.mjs        (with REDIS_URL=redis://... all processes share what one learns)
//   curl -i http://localhost:3000/prices/tea         the upstream's price
//   curl -X PUT http://127.0.0.1:.../fail            the URL that it prints: now it fails; with /work it works again
//   curl -i http://localhost:3000/prices/tea         (ten times) a price of ours, soon without asking for theirs
//   curl -i http://localhost:3000/orders/tea         a route without a fallback: 503, and when to ask again

import { subscribe } from "node:diagnostics_channel";
import { BREAKER_CHANNELS, createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import express from "express";
import { Redis } from "ioredis";
import { startUpstream } from "../upstream.mjs";

const app = express();
const upstream = await startUpstream();

const redisUrl = process.env["REDIS_URL"];
const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
redis?.on("error", console.warn);

/** @type {import("@headgate/breaker").Breaker<Response>} */
const breaker = createBreaker({
  name: "express-upstream",
  store: redis && redisStore(redis, { prefix: "hg-example" }),
  // Short times, to see them pass. The defaults are five minutes, 20 calls and 30 seconds.
  window: "10s",
  minimumCalls: 4,
  openFor: "2s",
  trialCalls: 2,
  // An answer can be a failure too. A 404 is not: the upstream works.
  isFailure: (call) => call.status === "rejected" || call.value.status >= 500,
});

subscribe(BREAKER_CHANNELS.state, (change) => console.log("the upstream's breaker", change));

app.get("/prices/:item", async (req, res) => {
  const response = await breaker.run(
    ({ signal }) => fetch(`${upstream}/prices/${req.params.item}`, { signal }),
    { timeout: "1s", fallback: ({ reason }) => Response.json({ price: 4, reason }) },
  );
  res.json(await response.json());
});

app.get("/orders/:item", async (req, res) => {
  const response = await breaker.run(({ signal }) =>
    fetch(`${upstream}/prices/${req.params.item}`, { signal }),
  );
  res.status(response.status).json(await response.json());
});

/** @type {import("express").ErrorRequestHandler} */
const answerError = (error, _req, res, next) => {
  if (error.code !== "HEADGATE_BREAKER_OPEN") return next(error);
  // Forced open: the end is unknown.
  const seconds = Math.ceil(error.retryAfterMs / 1_000);
  if (Number.isFinite(seconds)) res.set("Retry-After", String(seconds));
  res.status(503).json({ error: "the upstream is down" });
};
app.use(answerError);

console.log(`the upstream is ${upstream}`);
const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const address = server.address();
  if (address !== null && typeof address === "object") {
    console.log(`listening on http://localhost:${address.port}`);
  }
});
