// One of several processes that ask the same limiters at once. Run with the socket; does what messages tell it to.
import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis(process.argv[2]);
const store = redisStore(client);

/** The server's clock at each admission, in microseconds, as the script answered it. */
const admissions = [];

/** Whether a reply about one counter says of each limit that there is nothing to wait for. */
function isAllowed(reply) {
  return reply.every((wait, at) => at % 4 !== 3 || wait === 0);
}

async function run(step, call) {
  const reply = await store.run(step, call);
  if (step.name === "decide" && isAllowed(reply)) admissions.push(reply[0]);
  return reply;
}

const send = (sent) =>
  run(sent.operation, sent.call).then(
    (reply) => sent.resolve(reply),
    (error) => sent.reject(error),
  );

const recording = { ...store, run, transport: { ...store.transport, send } };

/** Asks `count` times at once, or `atOnce` in turn until `milliseconds` are over. */
async function ask({ name, limits, subject, count, atOnce, milliseconds }) {
  // Every process has the machine to itself for a moment only, and what is decided without the store is not exact.
  const limiter = createLimiter({ name, limits, store: recording, storeTimeout: "1m" });
  admissions.length = 0;
  let asked = 0;
  const once = async () => {
    asked += 1;
    await limiter.consume(subject);
  };
  if (count !== undefined) {
    await Promise.all(Array.from({ length: count }, once));
  } else {
    const end = performance.now() + milliseconds;
    const askInTurn = async () => {
      while (performance.now() < end) await once();
    };
    await Promise.all(Array.from({ length: atOnce }, askInTurn));
  }
  await limiter.close();
  return { asked, admissions };
}

process.on("message", (task) => {
  // A failure ends this process, which its parent sees.
  void ask(task).then((result) => process.send(result));
});
process.send("ready");
