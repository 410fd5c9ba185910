// One of several processes that ask for the same subjects. Run with the socket; does what messages tell it to.
import { AsyncLocalStorage } from "node:async_hooks";
import { writeFileSync } from "node:fs";
import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis(process.argv[2]);
client.on("error", () => {});

/** The request that is being made. */
const requests = new AsyncLocalStorage();

/** Notes when the server decided a request, which is not when it was made. */
function noteClocks(store) {
  const run = async (step, call) => {
    const request = requests.getStore();
    const reply = await store.run(step, call);
    if (step.name === "decide" && call.cost === 1) request.at = reply.now;
    return reply;
  };
  const send = (sent) =>
    run(sent.operation, sent.call).then(
      (reply) => sent.resolve(reply),
      (error) => sent.reject(error),
    );
  return { ...store, run, transport: { ...store.transport, send } };
}

/** Asks `atOnce` in turn until `milliseconds` are over, and writes down what was decided, by which number. */
async function ask({ options, subject, milliseconds, atOnce, ledger }) {
  const limiter = createLimiter({ ...options, store: noteClocks(redisStore(client)) });
  const lines = [];
  const end = performance.now() + milliseconds;
  const askInTurn = async () => {
    while (performance.now() < end) {
      const begun = Date.now() * 1_000;
      const request = {};
      const decision = await requests.run(request, () => limiter.consume(subject));
      const { allowed, source, limit, overridden } = decision;
      const at = request.at ?? Date.now() * 1_000;
      lines.push([begun, at, source, limit, overridden, allowed].join(" "));
      // What is answered in this process must not keep it from hearing of Redis.
      if (source !== "store") await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, askInTurn));
  await limiter.close();
  writeFileSync(`${ledger}.${process.pid}`, lines.join("\n"));
}

process.on("message", (task) => {
  // A failure ends this process, which its parent sees.
  void ask(task).then(() => process.send("done"));
});
process.send("ready");
