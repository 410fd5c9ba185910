// A process of a fleet that starts: run with the socket, a limiter's name, and how many requests to make at once, again and again
// until it is told to stop. Says how many were admitted, and how many were decided without Redis.
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const [socket, name, atOnce] = process.argv.slice(2);
const client = new Redis(socket);
const limits = fixedWindow({ limit: 500, window: "24h" });
const limiter = createLimiter({ name, store: redisStore(client), limits });

const told = { admitted: 0, degraded: 0, asked: 0 };
let isStopped = false;
process.on("message", () => {
  isStopped = true;
});

async function ask() {
  const decision = await limiter.consume("everybody");
  told.asked += 1;
  if (decision.allowed) told.admitted += 1;
  if (decision.degraded) told.degraded += 1;
}

const askAll = () => Promise.all(Array.from({ length: Number(atOnce) }, ask));

await askAll();
process.send("started");
// The deny cache answers most of these; the rest is in flight at any moment.
while (!isStopped) {
  await askAll();
  await client.ping();
}
await limiter.close();
client.disconnect();
process.send(told);
process.disconnect();
