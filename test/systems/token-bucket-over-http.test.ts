import type { Store } from "@headgate/core";
import { memoryStore, tokenBucket } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import autocannon from "autocannon";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { describeAdapters } from "../http/support/describe-frameworks.ts";
import type { AnyRequest } from "../http/support/framework.ts";
import { parseFields } from "../http/support/rate-limit-fields.ts";
import { secondsLeft } from "../http/support/seconds-left.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";

/*
 * Token-bucket middleware: capacity and refill, decided by a script in Redis that is called with EVALSHA; a request may
 * cost more than one token; the limits stand in the headers, and who is over them gets 429.
 */

const CAPACITY = 400;
const REQUESTS = 500;
const CONNECTIONS = 64;

/** A token comes back every hour: none while a test runs. */
const limits = tokenBucket({ capacity: CAPACITY, refill: 1, every: "1h", name: "tokens" });

/** So many requests at once may keep a busy machine longer than a store is waited for. */
const patient = { storeTimeout: "1m" } as const;

let server: RedisProcess;
let operator: Redis;

beforeAll(async () => {
  server = await startRedis();
  operator = new Redis(server.socket);
});

afterAll(async () => {
  operator.disconnect();
  await server.stop();
});

const stores: { where: string; open(): Promise<Store> }[] = [
  { where: "memory", open: async () => memoryStore() },
  {
    where: "Redis, with ioredis",
    async open() {
      const client = new Redis(server.socket);
      onTestFinished(() => client.disconnect());
      return redisStore(client);
    },
  },
  {
    where: "Redis, with node-redis",
    async open() {
      const client = createClient({ socket: { path: server.socket, tls: false } });
      client.on("error", () => {});
      await client.connect();
      onTestFinished(() => client.destroy());
      return redisStore(client);
    },
  },
];

/** Sends requests over 64 connections at once, and counts the answers by status. */
async function storm(port: number, requests: number): Promise<Record<string, number>> {
  const url = `http://127.0.0.1:${port}`;
  const { statusCodeStats } = await autocannon({
    url,
    connections: CONNECTIONS,
    amount: requests,
    // It ends with a sample, a second apart unless told.
    sampleInt: 10,
  });
  const counts = Object.entries(statusCodeStats ?? {});
  return Object.fromEntries(counts.map(([status, { count }]) => [status, count ?? 0]));
}

/** How often the server was asked to run a script, by command. */
async function scriptCalls(): Promise<Record<string, number>> {
  const stats = await operator.info("commandstats");
  const calls = [...stats.matchAll(/^cmdstat_(eval\w*):calls=(\d+)/gm)];
  return Object.fromEntries(calls.map(([, command, count]) => [command, Number(count)]));
}

describeAdapters(({ serve }) => {
  describe.each(stores)("on $where", ({ where, open }) => {
    test("400 of 500 requests over 64 connections are admitted, and 100 are denied", async () => {
      await operator.flushall();
      const ports = new Set<number | undefined>();
      const key = (request: AnyRequest) => {
        ports.add(request.socket.remotePort);
        return "everybody";
      };
      const site = await serve({
        limits: { ...patient, name: "api", limits, store: await open(), key },
      });
      expect(await storm(site.port, REQUESTS)).toEqual({
        200: CAPACITY,
        429: REQUESTS - CAPACITY,
      });
      expect(site.handled).toHaveLength(CAPACITY);
      expect(site.errors).toEqual([]);
      expect(ports.size).toBe(CONNECTIONS);
      if (where === "memory") return;
      expect(await operator.keys("*")).toHaveLength(1);
    });

    test("a request takes as many tokens as it costs", async () => {
      await operator.flushall();
      const site = await serve({
        limits: {
          ...patient,
          name: "api",
          limits,
          store: await open(),
          cost: 7,
          key: () => "everybody",
        },
      });
      const admitted = Math.floor(CAPACITY / 7);
      expect(await storm(site.port, 100)).toEqual({ 200: admitted, 429: 100 - admitted });
      const denied = await site.sendRequest();
      expect(denied.headers["x-ratelimit-remaining"]).toBe(`${CAPACITY % 7}`);
    });

    test("the limits stand in the headers, and 429 says when to come back", async () => {
      await operator.flushall();
      const { sendRequest } = await serve({
        limits: {
          ...patient,
          name: "api",
          limits: tokenBucket({ capacity: 10, refill: 1, every: "1h", name: "tokens" }),
          store: await open(),
          cost: ({ headers }) => Number(headers["x-cost"] ?? 1),
        },
      });
      const { status, headers } = await sendRequest("/", { headers: { "x-cost": "8" } });
      expect(status).toBe(200);
      expect(headers).toMatchObject({ "x-ratelimit-limit": "10", "x-ratelimit-remaining": "2" });
      expect(parseFields(headers["ratelimit-policy"])).toEqual([
        { name: "tokens", q: 10, w: 36_000 },
      ]);
      expect(parseFields(headers["ratelimit"])).toEqual([{ name: "tokens", r: 2, t: 3_600 }]);
      const denied = await sendRequest("/", { headers: { "x-cost": "3" } });
      expect(denied.status).toBe(429);
      expect(denied.headers).toMatchObject({
        "x-ratelimit-remaining": "2",
        "retry-after": secondsLeft(3_600),
      });
      expect((await sendRequest("/", { headers: { "x-cost": "2" } })).status).toBe(200);
    });

    if (where === "memory") return;
    test("requests are an EVALSHA each at most, whatever they meet", async () => {
      await operator.flushall();
      const both = [tokenBucket({ capacity: 50, refill: 2, every: "2h" }), limits];
      const { sendRequest, port } = await serve({
        limits: { ...STORE_ALONE, name: "api", limits: both, store: await open() },
      });
      // The commands of an application's start are no requests.
      await operator.script("FLUSH");
      await operator.config("RESETSTAT");
      // The first ones bring their scripts along: that of the control record, of one that is alone, and of some that wait together,
      // which all of a storm may not do on a busy machine.
      await sendRequest();
      while (((await scriptCalls())["eval"] ?? 0) < 3) await storm(port, 100);
      await operator.config("RESETSTAT");
      await storm(port, 100);
      const { evalsha, ...others } = await scriptCalls();
      expect(others).toEqual({});
      // Those that wait at the same time go together.
      expect(evalsha).toBeLessThanOrEqual(100);
      expect(evalsha).toBeGreaterThanOrEqual(2);
    });
  });
});
