import type { Limiter } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { GlideClient } from "@valkey/valkey-glide";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { openAdminClient } from "../support/admin-client.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { waitUntil } from "../support/wait-until.ts";
import { connect } from "./clients.ts";
import { readCommandStats, resetCommandStats } from "./command-stats.ts";
import { degradedDuring, reasonOf } from "./degraded-decisions.ts";
import { STORE_ALONE } from "./store-alone.ts";

const LIMIT = 1_000;
/** Decisions made in an outage. */
const OUTAGE_CALLS = 5;
/** Below the 250 ms that GLIDE itself waits for an answer. */
const STORE_TIMEOUT_MS = 150;
/** What a busy machine adds to a timer. */
const NOISE_MS = 100;
/** GLIDE connects again after a few seconds at the latest, and a probe comes each half second. */
const SOON_MS = 15_000;

let server: RedisProcess;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("through GLIDE, decisions of one turn are one EVALSHA, and the script is sent once", async () => {
  const { client, close } = await connect["Valkey GLIDE"](server.socket);
  const redis = new Redis(server.socket);
  await redis.flushall();
  await redis.script("FLUSH");
  const store = redisStore(client);
  const limiter = createLimiter({
    ...STORE_ALONE,
    name: "turn",
    store,
    limits: gcra({ limit: LIMIT, window: "1h" }),
  });
  const request = () =>
    Promise.all(Array.from({ length: 20 }, (_, i) => limiter.consume(`u${i % 7}`)));
  await request();
  await resetCommandStats(redis);
  const decisions = await request();
  expect(decisions.every(({ source }) => source === "store")).toBe(true);
  // One more may read the control record.
  expect((await readCommandStats(redis, "evalsha")).calls).toBeLessThanOrEqual(2);
  expect((await readCommandStats(redis, "eval")).calls).toBe(0);
  expect((await readCommandStats(redis, "script")).calls).toBe(0);
  await limiter.close();
  await redis.quit();
  await close();
});

describe("a server's error, which GLIDE rewords", () => {
  test.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", "UNAVAILABLE"],
    ["READONLY You can't write against a read only replica.", "UNAVAILABLE"],
    ["LOADING Redis is loading the dataset in memory", "UNAVAILABLE"],
    ["BUSY Redis is busy running a script.", "UNAVAILABLE"],
    ["MASTERDOWN Link with MASTER is down", "UNAVAILABLE"],
    ["CLUSTERDOWN The cluster is down", "UNAVAILABLE"],
    ["ERR max number of clients reached", "UNAVAILABLE"],
    ["NOAUTH Authentication required.", "MISCONFIGURED"],
    ["NOPERM this user has no permissions", "MISCONFIGURED"],
    ["MOVED 5798 127.0.0.1:7002", "MISCONFIGURED"],
    ["ERR unknown command", "MISCONFIGURED"],
  ])("%s", async (words, code) => {
    watchWarnings();
    const { client, close } = await connect["Valkey GLIDE"](server.socket);
    // Instead of each script the server runs one that returns the error.
    const failing = new Proxy(client as GlideClient, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== "customCommand") return value;
        return (_: string[], options: object) =>
          target.customCommand(["EVAL", "return redis.error_reply(ARGV[1])", "0", words], options);
      },
    });
    const limiter = createLimiter({
      name: "errors",
      store: redisStore(failing),
      limits: gcra({ limit: LIMIT, window: "1h" }),
    });
    const reason = await reasonOf(() => limiter.consume("u"));
    expect(reason).toMatchObject({ code: `HEADGATE_STORE_${code}`, cause: { message: words } });
    await limiter.close();
    await close();
  });
});

describe("an outage, through GLIDE", () => {
  async function start(
    { storeTimeout, requestTimeout } = { storeTimeout: STORE_TIMEOUT_MS, requestTimeout: 250 },
  ) {
    watchWarnings();
    const own = await startRedis();
    const proxy = await startTcpProxy({ socket: own.socket });
    const admin = openAdminClient(own);
    const addresses = [{ host: "127.0.0.1", port: proxy.port }];
    const client = await GlideClient.createClient({ addresses, requestTimeout });
    const limiter = createLimiter({
      name: "outage",
      store: redisStore(client),
      limits: gcra({ limit: LIMIT, window: "1h", name: "limit" }),
      storeTimeout,
      denyCache: false,
    }) as Limiter;
    onTestFinished(async () => {
      await limiter.close();
      client.close();
      admin.close();
      await proxy.close();
      await own.stop();
    });
    expect(await limiter.consume("u")).toMatchObject({ source: "store", remaining: LIMIT - 1 });
    return { own, proxy, admin, limiter };
  }

  /** Some decisions in the outage: each in time, and degraded. */
  async function expectDegraded(limiter: Limiter): Promise<void> {
    for (let i = 0; i < OUTAGE_CALLS; i += 1) {
      const before = performance.now();
      expect(await limiter.consume("u")).toMatchObject({ allowed: true, source: "local" });
      expect(performance.now() - before).toBeLessThan(STORE_TIMEOUT_MS + NOISE_MS);
    }
  }

  /** Resolves with what is left, once the store answers again. */
  function untilBack(limiter: Limiter): Promise<number> {
    return waitUntil("the store answers", SOON_MS, async () => {
      const { source, remaining } = await limiter.peek("u", { cost: 0 });
      return source === "store" ? remaining : undefined;
    });
  }

  test("GLIDE recovers from a server that is killed and restarted empty", async () => {
    const { own, limiter } = await start();
    await limiter.consume("u", { cost: LIMIT / 2 });
    await own.kill();
    await expectDegraded(limiter);
    await own.restart();
    // GLIDE keeps calls that were given up, and may send them to the new server.
    expect(await untilBack(limiter)).toBeGreaterThanOrEqual(LIMIT - OUTAGE_CALLS);
  });

  test("GLIDE recovers from a frozen server, whose counts remain", async () => {
    const { own, limiter } = await start();
    own.freeze();
    await expectDegraded(limiter);
    own.thaw();
    const remaining = await untilBack(limiter);
    expect(remaining).toBeLessThanOrEqual(LIMIT - 1);
    // A call that was given up may be executed late. Nothing else was sent meanwhile.
    expect(remaining).toBeGreaterThanOrEqual(LIMIT - 2);
  });

  test("GLIDE recovers from a network that is slower than the timeout", async () => {
    const { proxy, limiter } = await start();
    proxy.delayReplies(STORE_TIMEOUT_MS * 3);
    await expectDegraded(limiter);
    proxy.delayReplies(0);
    await untilBack(limiter);
  });

  test("GLIDE does not repeat a call whose reply was lost with its connection", async () => {
    const { proxy, limiter } = await start();
    proxy.cutReply(0);
    expect(await limiter.consume("u")).toMatchObject({ source: "local" });
    expect(await untilBack(limiter)).toBe(LIMIT - 2);
  });

  test("GLIDE recovers from a changed password that is changed back", async () => {
    const { own, proxy, admin, limiter } = await start();
    await admin.command("CONFIG", "SET", "requirepass", "another");
    proxy.drop();
    await expectDegraded(limiter);
    const repair = new Redis(own.socket, { password: "another" });
    await repair.config("SET", "requirepass", "");
    await repair.quit();
    await untilBack(limiter);
  });

  test("SCRIPT FLUSH degrades no decision through GLIDE, and each is counted once", async () => {
    const { admin, limiter } = await start({ storeTimeout: 20_000, requestTimeout: 20_000 });
    const rounds = 50;
    const degraded = await degradedDuring(async () => {
      for (let round = 0; round < rounds; round += 1) {
        await admin.command("SCRIPT", "FLUSH");
        await Promise.all([limiter.consume("u"), limiter.consume("u")]);
      }
    });
    expect(degraded).toEqual([]);
    expect((await limiter.peek("u", { cost: 0 })).remaining).toBe(LIMIT - 1 - 2 * rounds);
  });
});
