// A process whose Redis client has no error listener. Run with: library, socket, "store" or "none".
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";

const [library, path, use] = process.argv.slice(2);
const { createClient, createClientPool } = await import(
  library.startsWith("redis5") ? "redis5" : "redis"
);
const make = library.endsWith("pool") ? createClientPool : createClient;
const client = make({ socket: { path } });
await client.connect();

if (use === "store") {
  const limiter = createLimiter({
    name: "lonely",
    limits: gcra({ limit: 100, window: "1m" }),
    store: redisStore(client),
  });
  const { allowed } = await limiter.consume("u");
  if (!allowed) throw new Error("the first request was denied");
}
process.send("ready");

// A process that still answers after the server has gone has survived.
process.on("message", () => process.send("alive"));
