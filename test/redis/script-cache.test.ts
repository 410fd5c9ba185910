import type { Limiter } from "@headgate/core";
import { createLimiter, gcra, slidingLog } from "@headgate/core";
import type { IoredisLike, RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { likeIoredis } from "../support/like-ioredis.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { clientNames, connect } from "./clients.ts";
import { readCommandStats, resetCommandStats } from "./command-stats.ts";
import { degradedDuring, reasonOf } from "./degraded-decisions.ts";
import { STORE_ALONE } from "./store-alone.ts";

let server: RedisProcess;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.socket);
});
afterAll(async () => {
  await redis.quit();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  await redis.script("FLUSH");
  await resetCommandStats(redis);
});

/** The limiters of the test. What one finds out about its server, another on the same client knows as well. */
const started: Limiter[] = [];
afterEach(async () => {
  for (const limiter of started.splice(0)) await limiter.close();
});

function limiterOn(client: RedisClient, limit = 100_000): Limiter {
  const limiter = createLimiter({
    name: `scripts-${limit}`,
    limits: [gcra({ limit, window: "366d" }), slidingLog({ limit, window: "366d", name: "log" })],
    store: redisStore(client),
    ...STORE_ALONE,
  });
  started.push(limiter);
  return limiter;
}

/** A client that notes how many EVALs are under way at once. */
function watchEvals(client: RedisClient): { client: RedisClient; most: () => number } {
  let underWay = 0;
  let most = 0;

  async function count(call: () => unknown): Promise<unknown> {
    underWay += 1;
    most = Math.max(most, underWay);
    try {
      return await call();
    } finally {
      underWay -= 1;
    }
  }

  function watch<Client extends object>(watched: Client): Client {
    return new Proxy(watched, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name === "withTypeMapping" || name === "withCommandOptions") {
          return (options: object) => watch(value.call(target, options));
        }
        return (...args: unknown[]) => {
          const ask = () => value.apply(target, args);
          return isEval(name, args) ? count(ask) : ask();
        };
      },
    });
  }

  return { client: watch(client), most: () => most };
}

/** Whether a call of a client's method is EVAL: GLIDE has one method for all commands. */
function isEval(method: PropertyKey, [command]: readonly unknown[]): boolean {
  if (method === "customCommand") return (command as readonly string[])[0] === "EVAL";
  return method === "eval" || method === "evalBuffer";
}

describe.each(clientNames)("%s on a server that does not know the script", (name) => {
  test("64 concurrent requests for an unknown script all succeed and are counted exactly, with one EVAL at a time", async () => {
    const { client, close } = await connect[name](server.socket);
    const watched = watchEvals(client);
    const limiter = limiterOn(watched.client, 1_000);
    const decisions = await Promise.all(Array.from({ length: 64 }, () => limiter.consume("u")));
    expect(decisions.map(({ remaining }) => remaining).toSorted((a, b) => b - a)).toEqual(
      Array.from({ length: 64 }, (_, i) => 999 - i),
    );
    expect(watched.most()).toBe(1);
    const { calls } = await readCommandStats(redis, "eval");
    // On the connections of a pool some learn late that the script was missing.
    if (name.endsWith("pool")) expect(calls).toBeLessThan(64);
    // Each of two scripts once: the other one reads the control record.
    else expect(calls).toBe(2);

    await resetCommandStats(redis);
    await Promise.all([limiter.consume("u"), limiter.consume("u")]);
    expect((await readCommandStats(redis, "eval")).calls).toBe(0);
    await close();
  });

  test("of 64 concurrent requests for an unknown script, 4 are admitted and charged if the limit is 4", async () => {
    const { client, close } = await connect[name](server.socket);
    const limiter = limiterOn(client, 4);
    const decisions = await Promise.all(Array.from({ length: 64 }, () => limiter.consume("u")));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(4);
    await close();
  });
});

test("20,000 policies leave only the scripts of two layouts on the server", async () => {
  const base = [gcra({ limit: 30, window: "1m" }), gcra({ limit: 900, window: "1h" })];
  const limiter = createLimiter({
    ...STORE_ALONE,
    name: "plans",
    limits: base,
    store: redisStore(redis),
  });
  await limiter.consume("alone");
  for (let from = 0; from < 20_000; from += 500) {
    const calls = Array.from({ length: 500 }, (_, i) => {
      const plan = from + i;
      const limits = [
        gcra({ limit: 31 + plan, window: "1m", ...(plan % 2 === 1 && { burst: 10 }) }),
        gcra({ limit: 901 + plan, window: "1h", ...(plan % 3 === 1 && { burst: 20 }) }),
      ];
      return limiter.consume(`customer ${plan % 700}`, { limits });
    });
    const decisions = await Promise.all(calls);
    for (const { source, limits } of decisions) {
      expect(source).toBe("store");
      expect(limits.map(({ name }) => name)).toEqual(["30-per-1m", "900-per-1h"]);
    }
    await limiter.consume("alone", {
      limits: [gcra({ limit: 31, window: "1m", burst: 1 + from }), base[1] as (typeof base)[0]],
    });
  }
  // A single decision and a batch, with as many numbers as the base has, and with the most possible.
  const scripts = /number_of_cached_scripts:(\d+)/.exec(await redis.info("memory"))?.[1];
  // One more reads the control record.
  expect(Number(scripts)).toBeLessThanOrEqual(5);
  expect((await readCommandStats(redis, "eval")).calls).toBeLessThanOrEqual(5);
  await limiter.close();
});

test("each of the three scripts is loaded again after SCRIPT FLUSH", async () => {
  const limiter = limiterOn(redis);
  for (let round = 0; round < 3; round += 1) {
    await limiter.consume("u");
    const decision = await limiter.consume("u");
    await redis.script("FLUSH");
    expect(await limiter.refund(decision)).toBe(true);
    await redis.script("FLUSH");
    expect(await limiter.reset("u")).toBe(true);
    await redis.script("FLUSH");
  }
});

test("a SCRIPT FLUSH loop under load fails no request, and each is counted once", async () => {
  const client = new Redis(server.socket);
  const watched = watchEvals(client);
  const limiter = limiterOn(watched.client);
  let flushes = 0;
  let isLoaded = true;
  const flushing = (async () => {
    while (isLoaded) {
      await redis.script("FLUSH");
      flushes += 1;
    }
  })();
  const askInTurn = async () => {
    for (let i = 0; i < 60; i += 1) expect((await limiter.consume("u")).allowed).toBe(true);
  };
  await Promise.all(Array.from({ length: 50 }, askInTurn));
  isLoaded = false;
  await flushing;
  expect((await limiter.peek("u")).limits.map(({ remaining }) => remaining)).toEqual([
    100_000 - 3_001,
    100_000 - 3_001,
  ]);
  expect(flushes).toBeGreaterThan(50);
  expect((await readCommandStats(redis, "eval")).calls).toBeGreaterThan(10);
  // The script that reads the control record may be loaded at the same time.
  expect(watched.most()).toBeLessThanOrEqual(2);
  await client.quit();
});

// Before the first decision the control record is read, by a script of its own.
describe("only NOSCRIPT causes a second call", () => {
  /** What the client rejected with. Nobody looks after the store any more when it is known. */
  async function failureOf(client: RedisClient): Promise<Error> {
    const limiter = limiterOn(client);
    const { cause } = await reasonOf(() => limiter.consume("u"));
    await limiter.close();
    return cause as Error;
  }

  test("NOPERM causes no second call", async () => {
    await redis.call("ACL", "SETUSER", "reader", "reset", "on", "nopass", "~*", "+get", "+evalsha");
    const client = new Redis(server.socket, {
      username: "reader",
      password: "any",
      enableReadyCheck: false,
    });
    await resetCommandStats(redis);
    expect((await failureOf(client)).message).toMatch(/^NOPERM/);
    expect(await readCommandStats(redis, "eval")).toMatchObject({ calls: 0, rejected: 2 });
    expect((await readCommandStats(redis, "evalsha")).calls).toBe(0);
    client.disconnect();
  });

  test("OOM causes no second call, from EVALSHA or EVAL", async () => {
    await redis.config("SET", "maxmemory", "1");
    try {
      // The server does not know the script: EVALSHA says so, and EVAL runs into the missing memory.
      expect((await failureOf(redis)).message).toMatch(/OOM/);
      expect((await readCommandStats(redis, "evalsha")).calls).toBe(2);
      expect((await readCommandStats(redis, "eval")).calls).toBe(2);
      // Now it knows the script, which reads, and fails at its first write.
      await resetCommandStats(redis);
      expect((await failureOf(redis)).message).toMatch(/OOM/);
      expect((await readCommandStats(redis, "evalsha")).calls).toBe(2);
      expect((await readCommandStats(redis, "eval")).calls).toBe(0);
    } finally {
      await redis.config("SET", "maxmemory", "0");
    }
    expect(await redis.dbsize()).toBe(0);
  });

  test("under OOM a denial still works, because it writes nothing", async () => {
    const limiter = limiterOn(redis, 1);
    await limiter.consume("u");
    await redis.config("SET", "maxmemory", "1");
    try {
      expect(await limiter.consume("u")).toMatchObject({ allowed: false, source: "store" });
      expect(await limiter.peek("v")).toMatchObject({ allowed: true, source: "store" });
    } finally {
      await redis.config("SET", "maxmemory", "0");
    }
  });

  test.each([
    "READONLY You can't write against a read only replica.",
    "ERR NOSCRIPT is not the code of this error",
    "Command timed out",
    "noscript in lower case is another server's error",
  ])("the error %j causes no second call", async (message) => {
    let calls = 0;
    const fail = async (): Promise<never> => {
      calls += 1;
      throw new Error(message);
    };
    const failing = likeIoredis(fail, fail);
    expect((await failureOf(failing)).message).toBe(message);
    // Where the server is known to be down by then, the decision is not sent.
    expect([1, 2]).toContain(calls);
  });

  test("a failing EVAL fails its own request, and the next request tries again", async () => {
    let evals = 0;
    const failing = likeIoredis(
      async () => {
        throw new Error("NOSCRIPT No matching script.");
      },
      async () => {
        evals += 1;
        throw new Error("ERR out of luck");
      },
    );
    const limiter = limiterOn(failing);
    const degraded = await degradedDuring(async () => {
      for (let i = 0; i < 3; i += 1) await limiter.consume("u");
    });
    const causes = degraded.map(({ reason }) => (reason.cause as Error).message);
    expect(causes).toEqual(new Array(3).fill("ERR out of luck"));
    expect(evals).toBeGreaterThan(3);
  });

  test("the text after an error's code does not matter", async () => {
    const { evalBuffer } = redis as unknown as { evalBuffer: IoredisLike["eval"] };
    const other = likeIoredis(async () => {
      throw new Error("NOSCRIPT Kein solches Skript.");
    }, evalBuffer.bind(redis));
    const limiter = limiterOn(other);
    // The first call sends the script, the second one its digest.
    for (let i = 0; i < 2; i += 1) {
      expect(await limiter.consume("u")).toMatchObject({ allowed: true, source: "store" });
    }
  });

  test("the first call of a process sends the script, and later ones its digest, known to the server or not", async () => {
    for (const isKnown of [false, true]) {
      await resetCommandStats(redis);
      const client = new Redis(server.socket);
      const limiter = limiterOn(client);
      await limiter.consume("u");
      await limiter.consume("u");
      // The control record is read before the first decision, and again after a second.
      expect((await readCommandStats(redis, "eval")).calls, `known: ${isKnown}`).toBe(2);
      expect((await readCommandStats(redis, "evalsha")).calls).toBeGreaterThanOrEqual(1);
      await limiter.close();
      await client.quit();
    }
  });
});
