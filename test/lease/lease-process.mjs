// One of several processes that lease units of the same subject. Its argument is the socket of Redis; each message is a task.
import { appendFileSync } from "node:fs";
import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis(process.argv[2]);
client.on("error", () => {});

/** The request that is being sent at this moment. */
let current = {};

/** Wraps a store, and notes when the server decided a request, which is later than when it was sent. */
function noteClocks(store) {
  const run = async (operation, call) => {
    const request = current;
    const reply = await store.run(operation, call);
    if (operation.name === "decide" && call.cost === 1) request.at = reply.now;
    return reply;
  };
  const send = (sent) =>
    run(sent.operation, sent.call).then(
      (reply) => sent.resolve(reply),
      (error) => sent.reject(error),
    );
  return { ...store, run, transport: { ...store.transport, send } };
}

/** Sends requests, `atOnce` at a time, until `milliseconds` are over; records each admission and returns unspent leases. */
async function sendRequests({ options, subject, milliseconds, atOnce, ledger }) {
  const limiter = createLimiter({ ...options, store: noteClocks(redisStore(client)) });
  const sources = {};
  const end = performance.now() + milliseconds;
  const sendInTurn = async () => {
    while (performance.now() < end) {
      const request = { at: Math.floor((performance.timeOrigin + performance.now()) * 1_000) };
      current = request;
      const { allowed, source } = await limiter.consume(subject);
      sources[source] = (sources[source] ?? 0) + 1;
      if (allowed) appendFileSync(ledger, `${request.at} ${source}\n`);
      // Decisions of this process must not keep it from reading the replies of Redis.
      if (source !== "store") await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sendInTurn));
  await limiter.close();
  return sources;
}

process.on("message", (task) => {
  // A failure ends this process, which its parent sees.
  void sendRequests(task).then((sources) => process.send(sources));
});
process.send("ready");
