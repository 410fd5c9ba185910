// A process whose Redis is away, and that has nothing else to do than to end. Run with: the socket.
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis(process.argv[2]);
client.on("error", () => {});
const limiter = createLimiter({
  name: "stranded",
  limits: gcra({ limit: 5, window: "1h" }),
  store: redisStore(client),
});
await limiter.consume("u");
process.send("connected");
async function strand() {
  const { source } = await limiter.consume("u");
  await limiter.close();
  client.disconnect();
  process.send(source);
  process.disconnect();
}
// A failure ends this process, which its parent sees.
process.once("message", () => void strand());
