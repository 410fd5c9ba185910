import type { Decision, Store } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5 } from "ioredis5";
import { Cluster as ValkeyCluster } from "iovalkey";
import * as nodeRedis from "redis";
import * as nodeRedis5 from "redis5";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { likeIoredis } from "../support/like-ioredis.ts";
import type { Connection } from "./clients.ts";
import { clientNames, connect } from "./clients.ts";
import { reasonOf } from "./degraded-decisions.ts";
import { STORE_ALONE } from "./store-alone.ts";

const socket = inject("redisSocket");

/** Calls every method of a limiter with every algorithm, and returns the results. */
async function converse(store: Store, pass: (ms: number) => void): Promise<unknown[]> {
  const limiter = createLimiter({
    ...STORE_ALONE,
    name: "conversation",
    store,
    limits: [
      gcra({ limit: 10, window: "10s", burst: 5 }),
      tokenBucket({ capacity: 300_000, refill: 299_993, every: "1d" }),
      fixedWindow({ limit: 20, window: "1m", align: "clock", per: "tenant" }),
      slidingWindow({ limit: 30, window: "1m", buckets: 6, per: "tenant" }),
      slidingWindow({ limit: 13, window: "7s", name: "two windows" }),
      slidingLog({ limit: 8, window: "30s", per: "global" }),
    ],
  });
  const answers: unknown[] = [];
  const decisions: Decision[] = [];
  for (let i = 0; i < 40; i += 1) {
    const subject = { default: `user {${i % 3}}`, tenant: i % 2 ? "acme:eu" : "💧" };
    decisions.push(await limiter.consume(subject, { cost: 1 + (i % 4) }));
    answers.push(decisions[i], await limiter.peek(subject));
    if (i % 5 === 4) answers.push(await limiter.refund(decisions[i - 1] as Decision));
    if (i % 13 === 12) answers.push(await limiter.reset({ tenant: "acme:eu" }));
    pass(i * 137.125);
  }
  await limiter.close();
  return answers;
}

async function converseOnMemory(): Promise<unknown[]> {
  let now = 1_800_000_000_000;
  return converse(requireStore(memoryStore({ clock: () => now })), (ms) => {
    now += ms;
  });
}

async function converseOn(client: RedisClient, prefix: string): Promise<unknown[]> {
  let now = 1_800_000_000_000;
  return converse(requireStore(redisStore(client, { prefix, clock: () => now })), (ms) => {
    now += ms;
  });
}

describe.each(clientNames)("%s", (name) => {
  let connection: Connection;
  const prefix = name.replaceAll(/\W+/g, "-");

  beforeAll(async () => {
    connection = await connect[name](socket);
  });
  afterAll(() => connection.close());

  test("a client is recognised by its methods, and decides like the in-memory store", async () => {
    const answers = await converseOn(connection.client, prefix);
    expect(answers).toEqual(await converseOnMemory());
    const kinds = answers.map((answer) => (answer as Partial<Decision>).allowed ?? answer);
    expect(new Set(kinds)).toEqual(new Set([true, false]));
  });

  test("every client shares its counters with the others", async () => {
    const other = await connect["ioredis 6"](socket);
    const options = {
      ...STORE_ALONE,
      name: "shared",
      limits: slidingLog({ limit: 3, window: "1h" }),
    };
    const shared = `shared-${prefix}`;
    const mine = createLimiter({
      ...options,
      store: requireStore(redisStore(connection.client, { prefix: shared })),
    });
    const theirs = createLimiter({
      ...options,
      store: requireStore(redisStore(other.client, { prefix: shared })),
    });
    await theirs.consume("u", { cost: 2 });
    expect((await mine.consume("u")).remaining).toBe(0);
    expect((await theirs.consume("u")).allowed).toBe(false);
    expect(await mine.reset("u")).toBe(true);
    expect((await theirs.peek("u", { cost: 3 })).allowed).toBe(true);
    await other.close();
  });

  test("decisions use the server's clock: the wait of a denial is exact in real time", async () => {
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: "clock",
      limits: gcra({ limit: 1, window: 40 }),
      store: requireStore(redisStore(connection.client, { prefix })),
    });
    // From before the first call: its answer may come late.
    const before = performance.now();
    await limiter.wait("u");
    expect(await limiter.wait("u")).toMatchObject({ allowed: true, source: "store" });
    expect(performance.now() - before).toBeGreaterThan(39);
  });
});

describe("ioredis", () => {
  test("ioredis that returns numbers as strings makes the same decisions", async () => {
    const client = new Redis(socket, { stringNumbers: true });
    expect(await converseOn(client, "clients-strings")).toEqual(await converseOnMemory());
    await client.quit();
  });

  test("ioredis with auto-pipelining or RESP2 makes the same decisions", async () => {
    for (const options of [{ enableAutoPipelining: true }, { protocol: 2 }] as const) {
      const client = new Redis(socket, options);
      const prefix = `clients-${Object.keys(options)}`;
      expect(await converseOn(client, prefix)).toEqual(await converseOnMemory());
      await client.quit();
    }
  });

  test("ioredis with a key prefix keeps log and counter in one hash slot", async () => {
    const client = new Redis(socket, { keyPrefix: "outer:" });
    expect(await converseOn(client, "inner")).toEqual(await converseOnMemory());
    const plain = new Redis(socket);
    const keys = await plain.keys("outer:*");
    expect(keys.length).toBeGreaterThan(3);
    expect(keys.every((key) => key.startsWith("outer:inner:{"))).toBe(true);
    await Promise.all([client.quit(), plain.quit()]);
  });
});

describe("node-redis", () => {
  test("node-redis with RESP2, or with numbers as strings, makes the same decisions", async () => {
    const one = await nodeRedis
      .createClient({ socket: { path: socket, tls: false }, RESP: 2 })
      .connect();
    expect(await converseOn(one, "clients-resp2")).toEqual(await converseOnMemory());
    const mapped = one.withTypeMapping({ [nodeRedis.RESP_TYPES.NUMBER]: String });
    expect(await converseOn(mapped, "clients-mapped")).toEqual(await converseOnMemory());
    await one.close();
  });
});

describe("node-redis 6", () => {
  test("node-redis sets its own timeout only for calls that wait for the connection", async () => {
    const timeouts = vi.spyOn(AbortSignal, "timeout");
    onTestFinished(() => timeouts.mockRestore());
    const client = nodeRedis.createClient({
      socket: { path: socket, tls: false },
      commandOptions: { timeout: 60_000 },
    });
    onTestFinished(() => client.destroy());
    const limiter = createLimiter({
      name: "own-timeout",
      limits: gcra({ limit: 10, window: "1h" }),
      storeTimeout: "10s",
      store: redisStore(client),
    });
    onTestFinished(() => limiter.close());
    const connected = client.connect();
    const first = limiter.consume("u");
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(timeouts).toHaveBeenCalledWith(60_000);
    await connected;
    expect(await first).toMatchObject({ source: "store", remaining: 9 });
    timeouts.mockClear();
    expect(await limiter.consume("u")).toMatchObject({ source: "store", remaining: 8 });
    expect(timeouts).not.toHaveBeenCalled();
  });
});

describe("a client that is not connected is recognised by its methods", () => {
  const node = { host: "127.0.0.1", port: 1 };
  const lazy = { lazyConnect: true, retryStrategy: null };
  const made: Record<string, () => RedisClient> = {
    "ioredis 6, Redis": () => new Redis(lazy),
    "ioredis 6, Cluster": () => new Cluster([node], { lazyConnect: true }),
    "ioredis 5, Cluster": () => new Cluster5([node], { lazyConnect: true }),
    "iovalkey, Cluster": () => new ValkeyCluster([node], { lazyConnect: true }),
    "node-redis 6, client": () => nodeRedis.createClient(),
    "node-redis 6, pool": () => nodeRedis.createClientPool(),
    "node-redis 6, cluster": () =>
      nodeRedis.createCluster({ rootNodes: [{ url: "redis://127.0.0.1:1" }] }),
    "node-redis 6, sentinel": () =>
      nodeRedis.createSentinel({ name: "main", sentinelRootNodes: [node] }),
    "node-redis 5, cluster": () =>
      nodeRedis5.createCluster({ rootNodes: [{ url: "redis://127.0.0.1:1" }] }),
    "node-redis 5, sentinel": () =>
      nodeRedis5.createSentinel({ name: "main", sentinelRootNodes: [node] }),
  };

  test.each(Object.entries(made))("%s", (_, make) => {
    const client = make();
    const store = requireStore(redisStore(client));
    expect(store.owner).toBe(client);
    expect(store.prefix).toBe("hg");
    expect((client as unknown as NodeJS.EventEmitter).listenerCount("error")).toBeGreaterThan(0);
  });
});

describe("redisStore rejects", () => {
  const client = likeIoredis(async () => []);

  test.each<[received: string, client: unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a string", "redis://:secret@localhost"],
    ["a number", 6379],
    ["an object", { host: "localhost", password: "secret" }],
    ["an object", new Map()],
    ["an object", { evalsha: () => {} }],
    ["an object", { evalSha: () => {} }],
    ["an object", { evalsha: 1, eval: 2 }],
    ["one that looks like", { evalsha() {}, eval() {}, defineCommand() {} }],
    ["one that looks like", { evalSha() {}, eval() {}, withTypeMapping: null }],
    ["a function", Redis],
  ])("redisStore rejects a client that is %s", (received, unknown) => {
    expect(() => requireStore(redisStore(unknown as RedisClient))).toThrow(
      expect.objectContaining({
        code: "HEADGATE_UNKNOWN_REDIS_CLIENT",
        message: expect.stringContaining(`got ${received}`),
      }),
    );
    expect(() => requireStore(redisStore(unknown as RedisClient))).not.toThrow(/secret/);
  });

  test.each(["", "a b", "a:b", "{a}", "x".repeat(33), "é", 5, null, {}])(
    "redisStore rejects the prefix %j",
    (prefix) => {
      expect(() => requireStore(redisStore(client, { prefix: prefix as string }))).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_OPTION",
          message: expect.stringContaining(`got ${JSON.stringify(prefix)}`),
        }),
      );
    },
  );

  test.each([5, "now", null, {}])("redisStore rejects the clock %j", (clock) => {
    expect(() => requireStore(redisStore(client, { clock: clock as never }))).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(JSON.stringify(clock)),
      }),
    );
  });

  test("redisStore rejects an unknown option", () => {
    expect(() => requireStore(redisStore(client, { keyPrefix: "x" } as never))).toThrow(
      /unknown option "keyPrefix"; it takes prefix, clock/,
    );
  });

  test.each<[reply: unknown]>([
    [undefined],
    [null],
    ["OK"],
    [[]],
    [[[]]],
    [[["x"]]],
    [[[1, 2.5]]],
    [[[1, 2, 0]]],
    [[[1, 2, 3, 0, 9, 1_000, 1_000, 7]]],
  ])("a reply that a script never returns rejects with HEADGATE_BAD_REPLY: %j", async (reply) => {
    const strange = likeIoredis(async () => reply);
    const warnings = watchWarnings();
    const limiter = createLimiter({
      name: "strange",
      limits: gcra({ limit: 10, window: "1s" }),
      store: requireStore(redisStore(strange)),
    });
    // Neither an admission nor a denial is taken from it.
    const reason = await reasonOf(() => limiter.consume("u"));
    expect(reason).toMatchObject({ code: "HEADGATE_BAD_REPLY" });
    await reasonOf(() => limiter.peek("u"));
    await new Promise(setImmediate);
    expect(warnings.map(({ code }) => code)).toEqual(["HEADGATE_BAD_REPLY"]);
    expect(warnings[0]?.message).toContain(reason.message);
  });
});
