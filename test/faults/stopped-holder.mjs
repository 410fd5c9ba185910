// Holds all slots of a subject until its work is aborted. Takes the socket, the limit and the ttl as arguments.
import { once } from "node:events";
import { concurrency, createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const [socket, limit, ttl] = process.argv.slice(2);
const store = redisStore(new Redis(socket));
const limits = concurrency({ limit: Number(limit), ttl: Number(ttl) });
const limiter = createLimiter({ name: "work", limits, store, storeTimeout: "30s" });

const ended = [];
let running = 0;
for (let i = 0; i < Number(limit); i += 1) {
  const work = limiter.run("hot", async ({ signal }) => {
    running += 1;
    if (running === Number(limit)) process.send({ running });
    await once(signal, "abort");
  });
  ended.push(work);
}
await Promise.all(ended);
process.send({ aborted: ended.length });
