// A process with a limiter and a breaker, listed as soon as possible where the second argument is "soon", and not before ten seconds
// otherwise. Run with the socket; closes and ends when it is told so, and otherwise lives as long as its connection does.
import { createBreaker } from "@headgate/breaker";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const [, , socket, when, limit = "5"] = process.argv;
if (when === "soon") {
  const registryIntervals = { firstMs: 1, everyMs: 100 };
  globalThis[Symbol.for("@headgate/core/2.state")] = new WeakMap([
    [globalThis, { registryIntervals }],
  ]);
}
const client = new Redis(socket);
const store = redisStore(client);
const limits = gcra({ limit: Number(limit), window: "1m" });
const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "10s" });
const breaker = createBreaker({ name: "bank", store });
await limiter.consume("u");

async function end() {
  await Promise.all([limiter.close(), breaker.close()]);
  client.disconnect();
  process.disconnect();
}

if (when === "soon") {
  // A failure ends this process, which its parent sees.
  process.once("message", () => void end());
} else {
  // Nothing is closed but the connection.
  client.disconnect();
}
process.send?.("counted");
if (when !== "soon") process.disconnect();
