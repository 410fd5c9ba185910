// One of several processes that follow operators' orders. Run with the address of Redis as JSON; messages start and stop its requests.
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

/** Decisions: the time of the request in milliseconds since the epoch, whether it was allowed, and the source. */
const decided = [];
let isRequesting = false;

async function requestOnce() {
  const at = Date.now();
  const { allowed, source } = await limiter.consume("ann");
  decided.push([at, allowed, source]);
  return source;
}

async function requestInTurn() {
  while (isRequesting) {
    await requestOnce();
    await delay(2);
  }
}

const orders = {
  /** Makes requests until one is paid from a lease, so that the process holds leased units. */
  async fillLease() {
    while ((await requestOnce()) !== "lease");
  },
  async begin() {
    isRequesting = true;
    for (let i = 0; i < 2; i += 1) void requestInTurn();
  },
  async request() {
    await requestOnce();
  },
  async report() {
    return decided.splice(0);
  },
  async end() {
    isRequesting = false;
    await limiter.close();
  },
};

process.on("message", (order) => {
  // A failure ends this process, which its parent sees.
  void orders[order]().then((answer) => process.send(answer ?? []));
});
process.send("ready");
