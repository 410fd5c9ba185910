// One of several processes that use up the same limits at once, and receive their thresholds. Run with the socket; messages tell it
// which limits to use up.
import { subscribe } from "node:diagnostics_channel";
import { CHANNELS, createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const store = redisStore(new Redis(process.argv[2]));
let notifications = [];

subscribe(CHANNELS.threshold, ({ subject, name, threshold, used, limit }) => {
  notifications.push({ subject, name, threshold, used, limit });
});

/** Asks for each of the costs at once, some of them by `charge`; gives back every third one. */
async function use({ name, limits, subject, costs }) {
  const limiter = createLimiter({ name, limits, store, storeTimeout: "1m", denyCache: false });
  notifications = [];
  await Promise.all(
    costs.map(async (cost, i) => {
      if (i % 5 === 4) return limiter.charge(subject, { cost });
      const decision = await limiter.consume(subject, { cost });
      return decision.allowed && i % 3 === 2 && limiter.refund(decision);
    }),
  );
  await limiter.close();
  return notifications;
}

process.on("message", (task) => {
  // A failure ends this process, which its parent sees.
  void use(task).then((result) => process.send(result));
});
process.send("ready");
