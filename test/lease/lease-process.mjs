// One of several processes that lease units of the same subject. Its argument is the socket of Redis; each message is a task.
import { appendFileSync } from "node:fs";
import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis(process.argv[2]);
client.on("error", () => {});

/** The request that is being sent at this moment. */
let current = {};

/** By how many microseconds the server's clock is ahead of this process's, by the replies so far: at least and at most. */
let ahead = [-Infinity, Infinity];

/** Narrows down `ahead` by a reply. Starts anew if one of the clocks was set meanwhile. */
function compareClocks(sent, decided, received) {
  const [least, most] = [decided - received, decided - sent];
  ahead = [Math.max(ahead[0], least), Math.min(ahead[1], most)];
  if (ahead[0] > ahead[1]) ahead = [least, most];
}

/** Wraps a store, and notes when the server decided a request, which is later than when it was sent. */
function noteClocks(store) {
  const run = async (operation, call) => {
    const request = current;
    const sent = now();
    const reply = await store.run(operation, call);
    if (operation.name !== "decide") return reply;
    compareClocks(sent, reply.now, now());
    if (call.cost === 1) request.decided = reply.now;
    return reply;
  };
  const send = (sent) =>
    run(sent.operation, sent.call).then(
      (reply) => sent.resolve(reply),
      (error) => sent.reject(error),
    );
  return { ...store, run, transport: { ...store.transport, send } };
}

function now() {
  return performance.now() * 1_000;
}

/** The server's time, in whole microseconds, of a request that was begun and ended: at the earliest, and at the latest. */
function serverTimes({ decided, begun }, ended) {
  const times = decided ? [decided, decided] : [begun + ahead[0], ended + ahead[1]];
  return [Math.floor(times[0]), Math.ceil(times[1])];
}

/** Sends requests, `atOnce` at a time, until `milliseconds` are over; records each admission and returns unspent leases. */
async function sendRequests({ options, subject, milliseconds, atOnce, ledger }) {
  const limiter = createLimiter({ ...options, store: noteClocks(redisStore(client)) });
  const sources = {};
  const end = performance.now() + milliseconds;
  const sendInTurn = async () => {
    while (performance.now() < end) {
      const request = { begun: now() };
      current = request;
      const { allowed, source } = await limiter.consume(subject);
      const ended = now();
      sources[source] = (sources[source] ?? 0) + 1;
      if (allowed) appendFileSync(ledger, `${serverTimes(request, ended).join(" ")} ${source}\n`);
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
