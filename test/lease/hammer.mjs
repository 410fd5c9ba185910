// One of several processes that lease units of the same subject. Run with the socket; does what messages tell it to.
import { appendFileSync } from "node:fs";
import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis(process.argv[2]);
client.on("error", () => {});

/** The request that is being made at this moment. */
let current = {};

/** Notes when the server decided a request, which is not when it was made. */
function noteClocks(store) {
  const run = async (step, call) => {
    const request = current;
    const reply = await store.run(step, call);
    if (step.name === "decide" && call.cost === 1) request.at = reply[0];
    return reply;
  };
  const send = (sent) =>
    run(sent.operation, sent.call).then(
      (reply) => sent.resolve(reply),
      (error) => sent.reject(error),
    );
  return { ...store, run, transport: { ...store.transport, send } };
}

/** Asks `atOnce` in turn until `milliseconds` are over, writes down each admission, and gives back what was not used. */
async function ask({ options, subject, milliseconds, atOnce, ledger }) {
  const limiter = createLimiter({ ...options, store: noteClocks(redisStore(client)) });
  const sources = {};
  const end = performance.now() + milliseconds;
  const askInTurn = async () => {
    while (performance.now() < end) {
      const request = { at: Math.floor((performance.timeOrigin + performance.now()) * 1_000) };
      current = request;
      const { allowed, source } = await limiter.consume(subject);
      sources[source] = (sources[source] ?? 0) + 1;
      if (allowed) appendFileSync(ledger, `${request.at} ${source}\n`);
      // What is answered in this process must not keep it from hearing of Redis.
      if (source !== "store") await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, askInTurn));
  await limiter.close();
  return sources;
}

process.on("message", (task) => {
  // A failure ends this process, which its parent sees.
  void ask(task).then((sources) => process.send(sources));
});
process.send("ready");
