import type { Limit, Limiter, Store } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { STORE_ALONE } from "./store-alone.ts";

const LIMIT = 20;
/** The units of the charge that is refunded. */
const UNITS = 8;
const WINDOW = fixedWindow({ limit: LIMIT, window: "7d" });

let server: RedisProcess;
let proxy: TcpProxy;

beforeAll(async () => {
  server = await startRedis({ port: true });
  proxy = await startTcpProxy({ port: server.port });
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
});

function fromIoredis(client: Redis | Redis5 | Valkey): RedisClient {
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

/** Loses the reply to a refund, with its connection. Returns the units that are admitted then, by the server's count. */
async function admitAfterLostReply(
  client: RedisClient,
  limits: Limit,
  storeTimeout: "1s" | "1m" = STORE_ALONE.storeTimeout,
): Promise<number> {
  const direct = new Redis(server.socket);
  onTestFinished(() => direct.disconnect());
  await direct.flushall();
  const open = (store: Store): Limiter =>
    createLimiter({ ...STORE_ALONE, name: "api", limits, store, storeTimeout });
  const limiter = open(redisStore(client));
  const counted = open(redisStore(direct));
  onTestFinished(async () => {
    await Promise.all([limiter.close(), counted.close()]);
  });
  // The server knows the script afterwards: the lost reply is that to a refund, not to an unknown digest.
  await limiter.refund(await limiter.consume("other"));
  const charged = await limiter.consume("ann", { cost: UNITS });
  await limiter.consume("ann", { cost: LIMIT - UNITS });
  const { cut } = proxy.counts;
  proxy.cutReply(0);
  await limiter.refund(charged).catch(() => {});
  expect(proxy.counts.cut).toBe(cut + 1);
  // Both refunds left out what had drained since the charge, so the last unit may be whole only some milliseconds later.
  const isAdmitted = () =>
    counted.wait("ann", { timeout: "1s" }).then(
      () => true,
      () => false,
    );
  let admitted = 0;
  while (await isAdmitted()) admitted += 1;
  return admitted;
}

test.each([
  ["gcra", gcra({ limit: LIMIT, window: "7d" })],
  ["tokenBucket", tokenBucket({ capacity: LIMIT, refill: 1, every: "1d" })],
  ["fixedWindow", WINDOW],
  ["slidingWindow", slidingWindow({ limit: LIMIT, window: "7d" })],
  ["slidingWindow of buckets", slidingWindow({ limit: LIMIT, window: "7d", buckets: 6 })],
])(
  "a refund that ioredis sends again after its connection was lost adds its units once more, and no others: %s",
  async (_, limits) => {
    const client = fromIoredis(new Redis(proxy.port, "127.0.0.1"));
    expect(await admitAfterLostReply(client, limits)).toBe(2 * UNITS);
  },
);

test("a refund that is sent again adds nothing to a sliding log, whose entry is gone", async () => {
  const client = fromIoredis(new Redis(proxy.port, "127.0.0.1"));
  const limits = slidingLog({ limit: LIMIT, window: "7d" });
  expect(await admitAfterLostReply(client, limits)).toBe(UNITS);
});

test.each([
  ["ioredis 5", () => new Redis5(proxy.port, "127.0.0.1")],
  ["iovalkey", () => new Valkey(proxy.port, "127.0.0.1")],
])("%s sends a refund again after its connection was lost, too", async (_, open) => {
  expect(await admitAfterLostReply(fromIoredis(open()), WINDOW)).toBe(2 * UNITS);
});

test("ioredis with autoResendUnfulfilledCommands: false sends no refund again", async () => {
  const options = { autoResendUnfulfilledCommands: false };
  const client = fromIoredis(new Redis(proxy.port, "127.0.0.1", options));
  // The call gets no answer at all.
  expect(await admitAfterLostReply(client, WINDOW, "1s")).toBe(UNITS);
});

test("node-redis sends no refund again", async () => {
  const client = createClient({ url: `redis://127.0.0.1:${proxy.port}` });
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  expect(await admitAfterLostReply(client, WINDOW)).toBe(UNITS);
});
