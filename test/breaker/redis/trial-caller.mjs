// One of several processes whose target opens all the time. Run with: the socket, the breaker's options, a seed.
import { setTimeout as delay } from "node:timers/promises";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const [socket, options, seed] = process.argv.slice(2);
const client = new Redis(socket);
const breaker = createBreaker({ ...JSON.parse(options), store: redisStore(client) });

/** A small generator of numbers from 0 to 1: which calls fail is the same for the same seed. */
let state = Number(seed);
function random() {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

let hangsNext = false;
process.on("message", () => {
  hangsNext = true;
});

async function callOnce() {
  const permit = await breaker.admit();
  if (!permit.allowed) return;
  if (hangsNext && permit.state === "half-open" && !permit.degraded) {
    // A process that is killed now has a trial call in flight.
    process.send("hanging");
    await new Promise(() => {});
  }
  await delay(5 + 20 * random());
  await permit.record(random() < 0.5 ? "failure" : "success");
}

process.send("ready");
for (;;) {
  await callOnce();
  await delay(2);
}
