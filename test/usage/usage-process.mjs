// A process that decides so many times, about subjects of its own and one that all have. Run with the port or the socket, the number of
// decisions and its own number; says what it was allowed, closes when it is told so, and ends.
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const [, , place, decisions, id] = process.argv;
if (process.env.SOON === "1") {
  const usageIntervals = { everyMs: 50, subjectsEveryMs: 50 };
  globalThis[Symbol.for("@headgate/core/2.state")] = new WeakMap([
    [globalThis, { usageIntervals }],
  ]);
}
const client = new Redis(place);
const store = redisStore(client, { usage: { subjects: "plain" } });
const limits = fixedWindow({ limit: 100, window: "1d" });
const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "20s" });

let allowed = 0;
for (let i = 0; i < Number(decisions); i += 1) {
  const subject = i % 2 === 0 ? "all" : `own ${id}`;
  if ((await limiter.consume(subject)).allowed) allowed += 1;
}

async function end() {
  await limiter.close();
  client.disconnect();
  process.disconnect();
}

// A failure ends this process, which its parent sees.
process.once("message", () => void end());
process.send?.(allowed);
