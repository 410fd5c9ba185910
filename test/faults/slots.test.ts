import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Limiter, LimiterOptions } from "@headgate/core";
import { concurrency, createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Random } from "../conformance/random/random.ts";
import { collectWarnings } from "../http/support/warnings.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { waitUntil } from "../support/wait-until.ts";
import { cut } from "./faults/cut.ts";
import { delayed } from "./faults/delayed.ts";
import type { Fault } from "./faults/fault.ts";
import { frozen } from "./faults/frozen.ts";
import { killed } from "./faults/killed.ts";
import { restartedEmpty } from "./faults/restarted-empty.ts";
import type { ServerTarget } from "./faults/server-target.ts";
import { roundSeeds } from "./round-seeds.ts";
import { maxConcurrency, startWork } from "./work.ts";

/*
 * Measures how much work can exceed a concurrency limit: the rows of the table in docs/understand/guarantees.md.
 */

const LIMIT = 3;
const TTL_MS = 600;
const PROCESSES = 2;
const WORKERS = 5;
const BROKEN_MS = 1_000;
describe("under a fault, work that follows its signal never exceeds the limit:", () => {
  beforeAll(() => collectWarnings().stop);

  // These tests mostly wait, so they run concurrently.
  describe.concurrent.each<Fault<never>>([killed, frozen, cut, delayed, restartedEmpty] as never)(
    "$name",
    (given) => {
      const fault = given as unknown as Fault<ServerTarget>;
      test.for(roundSeeds)("seed %i", async (seed, { expect, onTestFinished }) => {
        const random = new Random(seed);
        const target = await fault.start();
        onTestFinished(() => target.close());
        const { endpoint } = target;
        if (endpoint.kind !== "server") throw new Error("these faults need a single server");
        const connect = () => {
          const client = new Redis({
            port: endpoint.port,
            host: "127.0.0.1",
            retryStrategy: () => 50,
          });
          client.on("error", () => {});
          onTestFinished(() => client.disconnect());
          return client;
        };
        const limiters = Array.from({ length: PROCESSES }, () =>
          createLimiter({
            name: "work",
            limits: concurrency({ limit: LIMIT, ttl: TTL_MS }),
            store: redisStore(connect()),
          }),
        );
        const size = { workers: WORKERS, longestMs: 2 * TTL_MS };
        const load = startWork(limiters as Limiter[], "hot", random, size);
        await delay(TTL_MS);
        const heal = await fault.inject(target, random);
        if (!fault.isBrief) await delay(BROKEN_MS);
        await heal();
        await delay(3 * TTL_MS);
        const recoveredAt = performance.now();
        await delay(2 * TTL_MS);
        await load.stop();

        expect(load.errors).toEqual([]);
        const inStore = load.runs.filter(({ source }) => source === "store");
        const before = fault.loses === "everything" ? LIMIT : 0;
        expect(maxConcurrency(inStore)).toBeLessThanOrEqual(LIMIT + before);
        for (let process = 0; process < PROCESSES; process += 1) {
          const here = load.runs.filter((one) => one.source === "local" && one.process === process);
          expect(maxConcurrency(here)).toBeLessThanOrEqual(LIMIT);
        }
        // Once the work admitted during the fault has ended, the limit holds again, and work is admitted.
        const since = load.runs.filter(({ from }) => from >= recoveredAt);
        expect(since.length).toBeGreaterThan(0);
        expect(maxConcurrency(since)).toBeLessThanOrEqual(LIMIT);
      });
    },
  );
});

/** Starts a server for one test. */
async function ownServer(): Promise<RedisProcess> {
  const server = await startRedis({ port: true });
  onTestFinished(() => server.stop());
  return server;
}

function open(client: Redis, options: Partial<LimiterOptions> = {}): Limiter {
  onTestFinished(() => client.disconnect());
  const store = redisStore(client);
  const limits = concurrency({ limit: LIMIT, ttl: TTL_MS });
  const limiter = createLimiter({ name: "work", limits, store, storeTimeout: "30s", ...options });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

/** Acquires all slots, and holds them until the work is aborted. Resolves when the work runs. */
async function holdAll(
  limiter: Limiter,
): Promise<{ aborted: () => number; ended: Promise<unknown> }> {
  let aborted = 0;
  const started: Promise<void>[] = [];
  const ended: Promise<unknown>[] = [];
  for (let i = 0; i < LIMIT; i += 1) {
    started.push(
      new Promise((resolve) => {
        ended.push(
          limiter.run("hot", async ({ signal }) => {
            resolve();
            await once(signal, "abort");
            aborted += 1;
          }),
        );
      }),
    );
  }
  await Promise.all(started);
  return { aborted: () => aborted, ended: Promise.all(ended) };
}

async function admitted(limiter: Limiter): Promise<number> {
  const decisions = await Promise.all(
    Array.from({ length: 3 * LIMIT }, () => limiter.consume("hot")),
  );
  return decisions.filter(({ allowed }) => allowed).length;
}

test("a replica that lost the last writes admits their slots once more, and aborts the holders", async () => {
  const primary = await ownServer();
  const replica = await ownServer();
  const link = await startTcpProxy({ port: primary.port });
  onTestFinished(() => link.close());
  const toReplica = new Redis(replica.socket);
  await toReplica.call("REPLICAOF", "127.0.0.1", link.port);
  await waitUntil("the replica is linked", 20_000, async () =>
    /master_link_status:up/.test(await toReplica.info("replication")) ? true : undefined,
  );
  link.swallow();
  const before = open(new Redis(primary.socket), {
    limits: concurrency({ limit: LIMIT, ttl: "1m" }),
  });
  const decisions = await Promise.all(Array.from({ length: LIMIT }, () => before.consume("hot")));
  expect(decisions.every(({ allowed }) => allowed)).toBe(true);
  await toReplica.call("REPLICAOF", "NO", "ONE");
  const after = open(toReplica, { limits: concurrency({ limit: LIMIT, ttl: "1m" }) });
  expect(await admitted(after)).toBe(LIMIT);
});

test("a server that lost all data admits the slots once more, and the next renewal aborts the holders", async () => {
  const server = await ownServer();
  const admin = new Redis(server.socket);
  onTestFinished(() => admin.disconnect());
  const held = await holdAll(open(new Redis(server.socket)));
  expect(held.aborted()).toBe(0);
  await admin.flushall();
  const other = open(new Redis(server.socket));
  expect(await admitted(other)).toBe(LIMIT);
  await held.ended;
  expect(held.aborted()).toBe(LIMIT);
  // The aborted holders did not release the slots of others.
  expect(await admitted(open(new Redis(server.socket)))).toBe(0);
});

test("a clock that steps forward by ttl admits the slots once more, and aborts the holders", async () => {
  const server = await ownServer();
  let now = 1_800_000_000_000;
  const client = new Redis(server.socket);
  const store = redisStore(client, { clock: () => now });
  const held = await holdAll(open(client, { store }));
  expect(await admitted(open(client, { store }))).toBe(0);
  now += TTL_MS;
  expect(await admitted(open(client, { store }))).toBe(LIMIT);
  await held.ended;
  expect(held.aborted()).toBe(LIMIT);
});

/** Starts a process that holds all slots, and collects its messages. */
async function startHolder(server: RedisProcess) {
  const script = fileURLToPath(new URL("stopped-holder.mjs", import.meta.url));
  const child = fork(script, [server.socket, String(LIMIT), String(TTL_MS)], { execArgv: [] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const messages: unknown[] = [];
  child.on("message", (message) => messages.push(message));
  await waitUntil("it holds all slots", 20_000, () => messages[0]);
  return { child, messages };
}

test("a process that was stopped for longer than ttl overlaps with its successors until it resumes and aborts", async () => {
  const server = await ownServer();
  const { child, messages } = await startHolder(server);
  const other = open(new Redis(server.socket));
  expect(await admitted(other)).toBe(0);
  child.kill("SIGSTOP");
  // Waits for all of them: they were acquired at different times, and lapse at different times.
  await waitUntil("its slots have lapsed", 10_000, async () => {
    const { remaining } = await other.peek("hot", { cost: 0 });
    return remaining === LIMIT || undefined;
  });
  const next = await other.consume("hot");
  expect(messages).toEqual([{ running: LIMIT }]);
  child.kill("SIGCONT");
  await waitUntil("its work has ended", 10_000, () => messages[1]);
  expect(messages[1]).toEqual({ aborted: LIMIT });
  // The resumed process did not release its successor's slot either, and kept none of its own.
  await other.release(next);
  expect((await other.peek("hot", { cost: 0 })).remaining).toBe(LIMIT);
});

test("a killed process keeps its slots for at most ttl", async () => {
  const server = await ownServer();
  const { child } = await startHolder(server);
  child.kill("SIGKILL");
  const other = open(new Redis(server.socket));
  const started = performance.now();
  await waitUntil("its slots have lapsed", 10_000, async () => {
    const { allowed } = await other.peek("hot");
    return allowed || undefined;
  });
  expect(performance.now() - started).toBeLessThan(TTL_MS + 1_000);
});
