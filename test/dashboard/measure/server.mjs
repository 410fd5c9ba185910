// The dashboard of the soak test in its own process, which reports its memory on request.
//
//   node --expose-gc server.mjs REDIS_URL
import { createServer } from "node:http";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { dashboard } from "@headgate/dashboard";
import { Redis } from "ioredis";

const [url = ""] = process.argv.slice(2);
const page = dashboard({
  store: redisStore(new Redis(url)),
  createBreaker,
  authorize: () => ({ by: "soak@example.com", actions: "all" }),
});
const server = createServer(page).listen(0, "127.0.0.1", () => {
  process.send(server.address().port);
});
process.on("message", () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  process.send({ heapUsed, rss });
});
// Ends with the process that started it, and leaves Ctrl-C to that one.
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => {});
