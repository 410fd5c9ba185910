// One of several processes that run work under one concurrency limit. Run with the socket; messages tell it how much work to run.
import { concurrency, createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis(process.argv[2]);
const store = redisStore(client);

/** Runs work `runs` times, three at once; all processes count the running work in one key. */
async function work({ limit, runs }) {
  const limiter = createLimiter({
    name: "together",
    limits: concurrency({ limit, ttl: "1m" }),
    store,
    storeTimeout: "1m",
  });
  let most = 0;
  let done = 0;
  const once = () =>
    limiter.run("everybody", async () => {
      most = Math.max(most, await client.incr("running"));
      for (let i = 0; i < 5; i += 1) await client.ping();
      await client.decr("running");
      done += 1;
    });
  const inTurn = async (count) => {
    for (let i = 0; i < count; i += 1) await once();
  };
  await Promise.all([inTurn(runs / 3), inTurn(runs / 3), inTurn(runs / 3)]);
  await limiter.close();
  return { most, done };
}

process.on("message", (task) => {
  // A failure ends this process, which its parent sees.
  void work(task).then((result) => process.send(result));
});
process.send("ready");
