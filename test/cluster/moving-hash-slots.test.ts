import { setTimeout as delay } from "node:timers/promises";
import type { Decision, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { watchStalls } from "../faults/stalls.ts";
import type { Connection } from "../redis/clients.ts";
import type { ClusterNode } from "../support/cluster-nodes.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { waitUntil } from "../support/wait-until.ts";
import { connectCluster } from "./cluster-clients.ts";
import { listenForDegraded } from "./degraded-reasons.ts";
import { subjectsOf, subjectsOfOneSlot } from "./subjects-of.ts";

const window = "7d";

/** More than a slow machine takes for a slot that moves, so that only what never comes is late. */
const PATIENT = "10s";

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;

let cluster: RedisCluster;
let from: ClusterNode;
let to: ClusterNode;
const open: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  cluster = await startCluster();
  [from, to] = cluster.nodes as [ClusterNode, ClusterNode];
});
afterAll(() => cluster?.stop());
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const libraries = ["ioredis 6", "ioredis 5", "node-redis 6", "node-redis 5"] as const;

describe.each(libraries)("while hash slots move, through %s", (library) => {
  async function connection(): Promise<Connection> {
    const connected = await connectCluster[library](cluster.addresses);
    open.push(connected);
    return connected;
  }

  function keep(limiter: Limiter): Limiter {
    open.push(limiter);
    return limiter;
  }

  test("a decision follows MOVED to the hash slot's new node", async () => {
    const { client } = await connection();
    const store = redisStore(client);
    const limits = [fixedWindow({ limit: 5, window })];
    const limiter = keep(
      createLimiter({ name: `moved ${library}`, limits, store, storeTimeout: PATIENT }),
    );
    const [subject] = (await subjectsOf(cluster, from, 1)) as [string];
    await limiter.consume(subject);
    await cluster.migrate(await cluster.slotOf(subject), to);
    const decision = await limiter.consume(subject);
    expect(decision).toMatchObject({ allowed: true, source: "store", remaining: 3 });
    expect((await limiter.consume(subject)).remaining).toBe(2);
  });

  test("a decision follows ASK while a hash slot is being moved", async () => {
    const { client } = await connection();
    const store = redisStore(client);
    const limits = [fixedWindow({ limit: 5, window })];
    const options = { limits, store, storeTimeout: PATIENT } as const;
    const stayed = keep(createLimiter({ name: `stayed ${library}`, ...options }));
    const fresh = keep(createLimiter({ name: `fresh ${library}`, ...options }));
    const [subject] = (await subjectsOf(cluster, from, 1)) as [string];
    await stayed.consume(subject);
    const migration = await cluster.beginMigration(await cluster.slotOf(subject), to);
    // One key has not moved, the other one will come into being where the slot goes.
    expect(await stayed.consume(subject)).toMatchObject({ source: "store", remaining: 3 });
    expect(await fresh.consume(subject)).toMatchObject({ source: "store", remaining: 4 });
    await migration.moveAllKeys();
    expect(await stayed.consume(subject)).toMatchObject({ source: "store", remaining: 2 });
    await migration.finish();
    expect(await stayed.consume(subject)).toMatchObject({ source: "store", remaining: 1 });
    expect(await fresh.consume(subject)).toMatchObject({ source: "store", remaining: 3 });
  });

  test("batched decisions are made one by one if their keys are on both nodes", async () => {
    const { client } = await connection();
    const store = redisStore(client);
    const limits = [fixedWindow({ limit: 5, window })];
    const options = { limits, store, storeTimeout: PATIENT } as const;
    const stayed = keep(createLimiter({ name: `stayed too ${library}`, ...options }));
    const fresh = keep(createLimiter({ name: `fresh too ${library}`, ...options }));
    const [subject] = (await subjectsOf(cluster, from, 1)) as [string];
    await stayed.consume(subject);
    const migration = await cluster.beginMigration(await cluster.slotOf(subject), to);
    const together = [stayed.consume(subject), fresh.consume(subject), stayed.consume(subject)];
    expect(await Promise.all(together)).toMatchObject([
      { source: "store", remaining: 3 },
      { source: "store", remaining: 4 },
      { source: "store", remaining: 2 },
    ]);
    await migration.moveAllKeys();
    await migration.finish();
    expect(await Promise.all([stayed.consume(subject), fresh.consume(subject)])).toMatchObject([
      { source: "store", remaining: 1 },
      { source: "store", remaining: 3 },
    ]);
  });

  test("a script whose first key has moved counts no other subject of the hash slot anew", async () => {
    const { client } = await connection();
    const store = redisStore(client);
    const limits = [fixedWindow({ limit: 5, window })];
    const limiter = keep(
      createLimiter({ name: `first ${library}`, limits, store, storeTimeout: PATIENT }),
    );
    const [moved, stayed] = (await subjectsOfOneSlot(cluster, from, 2)) as [string, string];
    const together = () => Promise.all([moved, stayed].map((subject) => limiter.consume(subject)));
    const remaining = (left: number) => Array(2).fill({ source: "store", remaining: left });
    expect(await together()).toMatchObject(remaining(4));
    const migration = await cluster.beginMigration(await cluster.slotOf(moved), to);
    const keys = await migration.keysLeft();
    await migration.moveKeys(keys.filter((key) => key.includes(`{${moved}}`)));
    expect(await together()).toMatchObject(remaining(3));
    await migration.moveAllKeys();
    expect(await together()).toMatchObject(remaining(2));
    await migration.finish();
    expect(await together()).toMatchObject(remaining(1));
  });

  test("a decision whose keys are on both nodes waits until they are on one", async () => {
    const { client } = await connection();
    const store = redisStore(client);
    const limits = [slidingLog({ limit: 5, window })];
    const limiter = keep(
      createLimiter({ name: `parted ${library}`, limits, store, storeTimeout: PATIENT }),
    );
    const [subject] = (await subjectsOf(cluster, from, 1)) as [string];
    await limiter.consume(subject);
    const migration = await cluster.beginMigration(await cluster.slotOf(subject), to);
    const [unit, log, ...others] = await migration.keysLeft();
    expect([log === undefined, others]).toEqual([false, []]);
    await migration.moveKeys([unit as string]);
    await from.admin.command("CONFIG", "RESETSTAT");
    const pending = limiter.consume(subject);
    await waitUntil("the store has said TRYAGAIN", 5_000, async () => {
      const errors = String(await from.admin.command("INFO", "errorstats"));
      return errors.includes("errorstat_TRYAGAIN") ? true : undefined;
    });
    await migration.moveAllKeys();
    expect(await pending).toMatchObject({ allowed: true, source: "store", remaining: 3 });
    await migration.finish();
    expect(await limiter.consume(subject)).toMatchObject({ source: "store", remaining: 2 });
  });

  test("a decision whose keys stay on both nodes is answered in time, and by the store again afterwards", async () => {
    const { client } = await connection();
    const store = redisStore(client);
    const limits = [slidingLog({ limit: 5, window })];
    const limiter = keep(
      createLimiter({ name: `torn ${library}`, limits, store, storeTimeout: STORE_TIMEOUT_MS }),
    );
    const [subject] = (await subjectsOf(cluster, from, 1)) as [string];
    await limiter.consume(subject);
    const migration = await cluster.beginMigration(await cluster.slotOf(subject), to);
    await migration.moveKeys((await migration.keysLeft()).slice(0, 1));
    const stalls = watchStalls();
    const start = performance.now();
    const decision = await limiter.consume(subject);
    const answered = performance.now();
    stalls.stop();
    expect(decision).toMatchObject({ allowed: true, source: "local" });
    const tookMs = answered - start - stalls.stalledMs(start, answered);
    expect(tookMs).toBeLessThanOrEqual(STORE_TIMEOUT_MS + NOISE_MS);
    await migration.moveAllKeys();
    await migration.finish();
    const healed = await untilUndegraded(limiter, subject, 2_000);
    expect(healed.limits[0]?.limit).toBe(5);
  });

  test.for([
    { name: "tight", limit: 60 },
    { name: "wide", limit: 50_000 },
  ])(
    "a hash slot that moves under load causes no error, no degraded decision and no lost unit of a $name limit",
    async ({ name, limit }) => {
      const limits = [
        slidingLog({ limit, window, name: "log" }),
        fixedWindow({ limit, window, name: "count" }),
      ];
      const limiters: Limiter[] = [];
      for (let i = 0; i < 2; i += 1) {
        const store = redisStore((await connection()).client);
        const options = {
          name: `${name} ${library}`,
          limits,
          store,
          storeTimeout: PATIENT,
        } as const;
        limiters.push(keep(createLimiter({ ...options, denyCache: false })));
      }
      const subjects = await subjectsOf(cluster, from, 4);
      const pending = new Map<string, Decision[]>(subjects.map((subject) => [subject, []]));
      const degraded = listenForDegraded(`${name} ${library}`);
      let isOver = false;
      const callers = limiters.flatMap((limiter) =>
        subjects.map(async (subject) => {
          while (!isOver) pending.get(subject)?.push(await limiter.consume(subject));
        }),
      );
      try {
        for (const subject of subjects) {
          const slot = await cluster.slotOf(subject);
          await cluster.migrate(slot, to);
          await cluster.migrate(slot, from);
        }
      } finally {
        isOver = true;
        await Promise.all(callers);
        degraded.stop();
      }
      expect(degraded.reasons).toEqual([]);
      for (const [subject, decisions] of pending) {
        expect(decisions.length).toBeGreaterThan(20);
        expect(decisions.every(({ source }) => source === "store")).toBe(true);
        const admitted = decisions.filter(({ allowed }) => allowed).length;
        expect(admitted).toBeLessThanOrEqual(limit);
        const look = await limiters[0]?.peek(subject);
        // What a look allows it counts as charged in its numbers.
        const left = limit - admitted - (look?.allowed ? 1 : 0);
        expect(look?.limits.map(({ remaining }) => remaining)).toEqual([left, left]);
      }
    },
  );

  test("a hash slot left half moved degrades only its own subjects", async () => {
    const { client } = await connection();
    const limits = [slidingLog({ limit: 50_000, window })];
    const store = redisStore(client);
    const limiter = keep(
      createLimiter({ name: `apart ${library}`, limits, store, storeTimeout: STORE_TIMEOUT_MS }),
    );
    const [torn, ...others] = (await subjectsOf(cluster, from, 5)) as [string, ...string[]];
    await limiter.consume(torn);
    const migration = await cluster.beginMigration(await cluster.slotOf(torn), to);
    await migration.moveKeys((await migration.keysLeft()).slice(0, 1));
    const decisions: Decision[] = [];
    const end = performance.now() + 1_000;
    const requestTorn = (async () => {
      while (performance.now() < end) {
        await limiter.consume(torn);
        await delay(5);
      }
    })();
    while (performance.now() < end) {
      for (const other of others) decisions.push(await limiter.consume(other));
      await delay(5);
    }
    await requestTorn;
    await migration.moveAllKeys();
    await migration.finish();
    const degraded = decisions.filter((decision) => decision.degraded).length;
    expect(`${degraded} of ${decisions.length}`).toBe(`0 of ${decisions.length}`);
  });
});

/** Asks until the store decides; fails after a time. */
async function untilUndegraded(
  limiter: Limiter,
  subject: string,
  withinMs: number,
): Promise<Decision> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const decision = await limiter.consume(subject);
    if (!decision.degraded) return decision;
    if (performance.now() > deadline) throw new Error(`degraded for more than ${withinMs} ms`);
    await delay(5);
  }
}
