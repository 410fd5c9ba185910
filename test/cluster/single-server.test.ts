import { createBreaker } from "@headgate/breaker";
import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from "vitest";
import type { Warning } from "../http/support/framework.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { connect } from "../redis/clients.ts";
import { readCommandStats, resetCommandStats } from "../redis/command-stats.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";
import type { ClusterNode } from "../support/cluster-nodes.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { waitUntil } from "../support/wait-until.ts";

const window = "7d";
const MANY = 100;

let cluster: RedisCluster;
let node: ClusterNode;
let admin: Redis;
let warnings: Warning[];

beforeAll(async () => {
  cluster = await startCluster({ primaries: 1 });
  node = cluster.nodes[0] as ClusterNode;
  admin = new Redis(node.process.socket, { retryStrategy: () => 20 });
  admin.on("error", () => {});
});
afterAll(async () => {
  admin.disconnect();
  await cluster.stop();
});
beforeEach(async () => {
  await admin.flushall();
  await resetCommandStats(admin);
  warnings = watchWarnings();
});
afterEach(() => expect(warnings).toEqual([]));

/** How many scripts the server refused before it ran them. */
async function refused(): Promise<number> {
  const scripts = await Promise.all(
    ["evalsha", "eval"].map((name) => readCommandStats(admin, name)),
  );
  return scripts.reduce((sum, { rejected }) => sum + rejected, 0);
}

function names(count: number, prefix = "user"): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}

function sourcesOf(decisions: readonly Decision[]): string[] {
  return [...new Set(decisions.map(({ source }) => source))];
}

function limiterOn(client: RedisClient, limits: Limit | Limit[], name = "api"): Limiter {
  const store = redisStore(client);
  const limiter = createLimiter({ ...STORE_ALONE, name, limits, store }) as Limiter;
  onTestFinished(() => limiter.close());
  return limiter;
}

describe.each(["ioredis 6", "node-redis 6"] as const)(
  "a server with all hash slots, through a non-cluster client of %s",
  (library) => {
    /** A client that has not asked anything yet. */
    async function connectNew(): Promise<RedisClient> {
      const { client, close } = await connect[library](node.process.socket);
      onTestFinished(async () => void (await close()));
      return client;
    }

    test("of a hundred concurrent decisions none is degraded because of another's hash slot", async () => {
      const limiter = limiterOn(await connectNew(), slidingLog({ limit: 3, window }));
      const subjects = names(MANY / 5).flatMap((subject) => Array<string>(5).fill(subject));
      const decisions = await Promise.all(subjects.map((subject) => limiter.consume(subject)));
      expect(sourcesOf(decisions)).toEqual(["store"]);
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength((MANY / 5) * 3);
      for (const subject of new Set(subjects)) {
        expect(await limiter.peek(subject)).toMatchObject({ allowed: false, source: "store" });
      }
    });

    test("after one CROSSSLOT no further script of the client is rejected, in any store", async () => {
      const client = await connectNew();
      const one = limiterOn(client, gcra({ limit: 9, window }));
      await Promise.all(names(MANY).map((subject) => one.consume(subject)));
      expect(await refused()).toBeGreaterThan(0);
      await resetCommandStats(admin);
      const two = limiterOn(client, gcra({ limit: 9, window, per: "tenant" }), "other");
      const decisions = await Promise.all(
        names(MANY).flatMap((name) => [one.consume(name), two.consume({ tenant: name })]),
      );
      expect(sourcesOf(decisions)).toEqual(["store"]);
      expect(await refused()).toBe(0);
    });

    test("keys of one hash slot share a script", async () => {
      const store = redisStore(await connectNew());
      const limiters = names(5, "limiter").map((name) =>
        createLimiter({ ...STORE_ALONE, name, limits: gcra({ limit: 9, window }), store }),
      );
      const first = limiters[0] as (typeof limiters)[number];
      await Promise.all(names(2).map((subject) => first.consume(subject)));
      await resetCommandStats(admin);
      const decisions = await Promise.all(limiters.map((limiter) => limiter.consume("user-0")));
      expect(decisions.map(({ remaining }) => remaining)).toEqual([7, 8, 8, 8, 8]);
      expect((await readCommandStats(admin, "evalsha")).calls).toBe(1);
      for (const limiter of limiters) await limiter.close();
    });

    const limits = [
      fixedWindow({ limit: 2, window, per: "tenant", name: "tight" }),
      slidingLog({ limit: 9, window, per: "user", name: "loose" }),
    ];
    const who = { tenant: "acme", user: "ada" };

    test("the first decision across two hash slots is not degraded", async () => {
      const limiter = limiterOn(await connectNew(), limits);
      const first = await limiter.consume(who);
      expect(first).toMatchObject({ allowed: true, source: "store", degraded: false });
      expect(first.limits.map(({ remaining }) => remaining)).toEqual([1, 8]);
      await limiter.consume(who);
      const denied = await limiter.consume(who);
      expect(denied).toMatchObject({ allowed: false, source: "store", limit: 2 });
      expect(denied.limits.map(({ remaining }) => remaining)).toEqual([0, 7]);
      expect(await refused()).toBe(1);
    });

    test("a hundred concurrent first decisions across two hash slots are not degraded", async () => {
      const plenty = [
        fixedWindow({ limit: 2 * MANY, window, per: "tenant" }),
        fixedWindow({ limit: 2, window, per: "user" }),
      ];
      const limiter = limiterOn(await connectNew(), plenty);
      const decisions = await Promise.all(
        names(MANY).map((user) => limiter.consume({ tenant: "acme", user })),
      );
      expect(sourcesOf(decisions)).toEqual(["store"]);
      expect(decisions.every(({ allowed }) => allowed)).toBe(true);
      const look = await limiter.peek({ tenant: "acme", user: "user-0" });
      expect(look.limits.map(({ remaining }) => remaining)).toEqual([MANY - 1, 0]);
    });

    test("a reset across two hash slots works as the first call", async () => {
      const before = limiterOn(await connectNew(), limits);
      await before.consume(who, { cost: 2 });
      const limiter = limiterOn(await connectNew(), limits);
      expect(await limiter.reset(who)).toBe(true);
      expect(await limiter.reset(who)).toBe(false);
      expect((await limiter.peek(who)).limits.map(({ remaining }) => remaining)).toEqual([1, 8]);
    });

    test("a decision across two hash slots is refunded once", async () => {
      const limiter = limiterOn(await connectNew(), limits);
      const decision = await limiter.consume(who);
      expect(await limiter.refund(decision)).toBe(true);
      expect(await limiter.refund(decision)).toBe(false);
      expect((await limiter.peek(who)).limits.map(({ remaining }) => remaining)).toEqual([1, 8]);
    });

    test("many concurrent refunds work after single decisions", async () => {
      const limiter = limiterOn(await connectNew(), gcra({ limit: 9, window }));
      const decisions: Decision[] = [];
      for (const subject of names(20)) decisions.push(await limiter.consume(subject));
      expect(await refused()).toBe(0);
      const given = await Promise.all(decisions.map((decision) => limiter.refund(decision)));
      expect(given).toEqual(new Array(20).fill(true));
      for (const subject of names(20)) expect((await limiter.peek(subject)).remaining).toBe(8);
    });

    test("leases of many subjects are returned to the store", async () => {
      const client = await connectNew();
      const options = {
        ...STORE_ALONE,
        name: "leased",
        limits: fixedWindow({ limit: 1_000, window }),
      };
      const leasing = createLimiter({
        ...options,
        store: redisStore(client),
        lease: { max: 50, ttl: "10s" },
      });
      const pending: Promise<Decision>[] = [];
      for (let round = 0; round < 20; round += 1) {
        for (const subject of names(10)) pending.push(leasing.consume(subject));
        await pending.at(-1);
      }
      const decisions = await Promise.all(pending);
      expect(sourcesOf(decisions).sort()).toEqual(["lease", "store"]);
      await leasing.close();
      const limiter = createLimiter({ ...options, store: redisStore(client) });
      onTestFinished(() => limiter.close());
      for (const subject of names(10)) {
        expect((await limiter.peek(subject)).remaining).toBe(1_000 - 20 - 1);
      }
    });

    test("the targets of a breaker are shared, and none is degraded", async () => {
      const breaker = createBreaker({
        name: "spread",
        store: redisStore(await connectNew()),
        storeTimeout: "1m",
        minimumCalls: 1,
        flushInterval: 0,
      });
      onTestFinished(() => breaker.close());
      const targets = names(MANY, "target").map((name) => breaker.for(name));
      await Promise.all(targets.map((target) => target.record("failure")));
      const snapshots = await Promise.all(targets.map((target) => target.snapshot()));
      for (const snapshot of snapshots) {
        expect(snapshot).toMatchObject({ state: "open", degraded: false, failures: 1 });
      }
      await Promise.all(targets.map((target) => target.reset()));
      expect((await targets[0]?.snapshot())?.state).toBe("closed");
    });
  },
);

test("an ioredis key prefix with a hash tag puts all keys in one hash slot, where they share scripts", async () => {
  const client = new Redis(node.process.socket, { keyPrefix: "{app}:" });
  onTestFinished(() => client.disconnect());
  const limiter = limiterOn(client, [
    gcra({ limit: 9, window, per: "tenant" }),
    gcra({ limit: 9, window, per: "user" }),
  ]);
  const decisions = await Promise.all(
    names(MANY).map((name) => limiter.consume({ tenant: name, user: name })),
  );
  expect(sourcesOf(decisions)).toEqual(["store"]);
  expect(await refused()).toBe(0);
});

test("probes in several hash slots find that a server is back", async () => {
  const client = new Redis(node.process.socket, { retryStrategy: () => 20 });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  const store = redisStore(client);
  const options = { limits: gcra({ limit: 9, window }), store, denyCache: false };
  // Each time of waiting has a watch of its own, which probes.
  const limiters = [400, 500, 600].map((storeTimeout) =>
    createLimiter({ ...options, name: `within-${storeTimeout}`, storeTimeout }),
  );
  const request = (): Promise<Decision[]> =>
    Promise.all(limiters.map((limiter, i) => limiter.consume(`user-${i}`)));
  expect(sourcesOf(await request())).toEqual(["store"]);
  await node.process.kill();
  expect(sourcesOf(await request())).toEqual(["local"]);
  await node.process.restart();
  await waitUntil("the store decides", 20_000, async () =>
    sourcesOf(await request()).join() === "store" ? true : undefined,
  );
  for (const limiter of limiters) await limiter.close();
  const codes = warnings.splice(0).map(({ code }) => code);
  expect(codes.filter((code) => code === "HEADGATE_STORE_UP")).toHaveLength(3);
  expect(codes).not.toContain("HEADGATE_STORE_MISCONFIGURED");
});
