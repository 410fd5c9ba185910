// One of several processes that hear of what operators do. Run with where Redis is, as JSON; asks as messages tell it to.
import { setTimeout as delay } from "node:timers/promises";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Cluster, Redis } from "ioredis";

const { cluster, socket, user } = JSON.parse(process.argv[2]);
const client = cluster ? new Cluster(cluster) : new Redis(socket, user);
client.on("error", () => {});

const limiter = createLimiter({
  name: "api",
  limits: gcra({ limit: 100_000, window: "1h" }),
  store: redisStore(client),
  storeTimeout: "1m",
  lease: { max: 200, ttl: "1m" },
});

/** What was decided: when it was asked for, in milliseconds since the epoch, whether it was allowed, and by whom. */
const decided = [];
let isAsking = false;

async function askOnce() {
  const at = Date.now();
  const { allowed, source } = await limiter.consume("ann");
  decided.push([at, allowed, source]);
  return source;
}

async function askInTurn() {
  while (isAsking) {
    await askOnce();
    await delay(2);
  }
}

const orders = {
  /** Asks until a lease pays, so that units are held that were taken ahead. */
  async heat() {
    while ((await askOnce()) !== "lease");
  },
  async begin() {
    isAsking = true;
    for (let i = 0; i < 2; i += 1) void askInTurn();
  },
  async askOnce() {
    await askOnce();
  },
  async tell() {
    return decided.splice(0);
  },
  async end() {
    isAsking = false;
    await limiter.close();
  },
};

process.on("message", (order) => {
  // A failure ends this process, which its parent sees.
  void orders[order]().then((answer) => process.send(answer ?? []));
});
process.send("ready");
