// A process of a fleet that starts: run with the socket, a limiter's name, and how many requests to make at once, again and again
// until a message stops it. Reports how many were admitted, and how many were decided without Redis.
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const [socket, name, atOnce] = process.argv.slice(2);
const client = new Redis(socket);
const limits = fixedWindow({ limit: 500, window: "24h" });
const limiter = createLimiter({ name, store: redisStore(client), limits });

const totals = { admitted: 0, degraded: 0, requests: 0 };
let isStopped = false;
process.on("message", () => {
  isStopped = true;
});

async function request() {
  const decision = await limiter.consume("everybody");
  totals.requests += 1;
  if (decision.allowed) totals.admitted += 1;
  if (decision.degraded) totals.degraded += 1;
}

const requestAll = () => Promise.all(Array.from({ length: Number(atOnce) }, request));

await requestAll();
process.send("started");
// The deny cache answers most of these; the rest is in flight at any moment.
while (!isStopped) {
  await requestAll();
  await client.ping();
}
await limiter.close();
client.disconnect();
process.send(totals);
process.disconnect();
