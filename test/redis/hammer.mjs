// One of several processes that use the same limiters at once. Run with the socket; messages tell it how many requests to make.
import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis(process.argv[2]);
const store = redisStore(client);

/** The server's clock at each admission, in microseconds, as the script answered it. */
const admissions = [];

async function run(step, call) {
  const reply = await store.run(step, call);
  if (step.name === "decide" && reply.allowed) admissions.push(reply.now);
  return reply;
}

const send = (sent) =>
  run(sent.operation, sent.call).then(
    (reply) => sent.resolve(reply),
    (error) => sent.reject(error),
  );

const recording = { ...store, run, transport: { ...store.transport, send } };

/** Makes `count` requests at once, or `atOnce` at a time until `milliseconds` have passed. */
async function request({ name, limits, subject, count, atOnce, milliseconds }) {
  // Every process has the machine to itself for a moment only, and what is decided without the store is not exact.
  const limiter = createLimiter({ name, limits, store: recording, storeTimeout: "1m" });
  admissions.length = 0;
  let requests = 0;
  const once = async () => {
    requests += 1;
    await limiter.consume(subject);
  };
  if (count !== undefined) {
    await Promise.all(Array.from({ length: count }, once));
  } else {
    const end = performance.now() + milliseconds;
    const requestInTurn = async () => {
      while (performance.now() < end) await once();
    };
    await Promise.all(Array.from({ length: atOnce }, requestInTurn));
  }
  await limiter.close();
  return { requests, admissions };
}

process.on("message", (task) => {
  // A failure ends this process, which its parent sees.
  void request(task).then((result) => process.send(result));
});
process.send("ready");
