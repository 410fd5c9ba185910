// A process that meters a stream until it is killed. Run with the socket, the name of the limiter, its limit, `every` and the units of a
// chunk. Prints the units that it used after each chunk.
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const [socket, name, ...numbers] = process.argv.slice(2);
const [limit, every, chunk] = numbers.map(Number);
const store = redisStore(new Redis(socket));
const limits = fixedWindow({ limit, window: "366d" });
const limiter = createLimiter({ name, limits, store, storeTimeout: "1m" });
const meter = await limiter.meter("u", { estimate: every, every });
for (;;) {
  meter.add(chunk);
  // A reader that is late must not leave lines in this process, which would be lost with it.
  await new Promise((resolve) => process.stdout.write(`${meter.used}\n`, resolve));
  await new Promise(setImmediate);
}
