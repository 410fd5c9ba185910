// One process of a fleet that calls an upstream. Run with: the socket, the breaker's options; runs the tasks that messages name.
import { setTimeout as delay } from "node:timers/promises";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const PAUSE_MS = 5;

const client = new Redis(process.argv[2]);
const breaker = createBreaker({ ...JSON.parse(process.argv[3]), store: redisStore(client) });

/** Milliseconds since the epoch, with their fractions, on one clock with the server. */
const now = () => performance.timeOrigin + performance.now();

/** Calls that reached the upstream, and when the breaker allowed one after a rejection, and rejected one after that. */
let traffic;

const tasks = {
  /** Calls an upstream that fails, in turn. */
  async fail({ calls }) {
    for (let i = 0; i < calls; i += 1) {
      await breaker.run(() => Promise.reject(new Error("down"))).catch(() => {});
    }
  },

  /** Calls an upstream that is well, every few milliseconds, until `stop`. */
  async start() {
    traffic = { stopped: false, calls: [], refusals: [] };
    void callUntilStopped(traffic);
  },

  async stop() {
    traffic.stopped = true;
    const { calls, refusals } = traffic;
    return { calls, refusals };
  },

  /** The first call of a process that has just started. */
  async callOnce() {
    let reached = false;
    const answer = await breaker.run(
      () => {
        reached = true;
        return "upstream";
      },
      { fallback: () => "fallback" },
    );
    return { reached, answer };
  },

  forceOpen: () => retryUntilApplied(() => breaker.forceOpen()),
  reset: () => retryUntilApplied(() => breaker.reset()),
};

/** Repeats a manual state change that times out on a busy machine. */
async function retryUntilApplied(change) {
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if (error.code !== "HEADGATE_STORE_UNAVAILABLE") throw error;
      await delay(PAUSE_MS);
    }
  }
}

async function callUntilStopped(own) {
  while (!own.stopped) {
    const call = () => void own.calls.push(now());
    await breaker.run(call, { fallback: () => void own.refusals.push(now()) });
    await delay(PAUSE_MS);
  }
}

process.on("message", ({ id, task, ...options }) => {
  // A failure ends this process, which its parent sees.
  void tasks[task](options).then((result) => process.send({ id, result }));
});
process.send("ready");
