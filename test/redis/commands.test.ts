import type { HeadgateError, Limit, Limiter } from "@headgate/core";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { probe, probeKeyFor } from "../../packages/core/src/operations/probe.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { readCommandStats, resetCommandStats } from "./command-stats.ts";
import { degradedDuring, reasonOf } from "./degraded-decisions.ts";
import { STORE_ALONE } from "./store-alone.ts";

const own = useOwnRedis();

const everyAlgorithm: Limit[] = [
  gcra({ limit: 50, window: "1h", name: "gcra" }),
  tokenBucket({ capacity: 50, refill: 50, every: "1h", name: "bucket" }),
  fixedWindow({ limit: 50, window: "1h", name: "fixed" }),
  slidingWindow({ limit: 50, window: "1h", name: "window" }),
  slidingWindow({ limit: 50, window: "1h", buckets: 60, name: "buckets" }),
  slidingLog({ limit: 50, window: "1h", name: "log" }),
  slidingLog({ limit: 70, window: "1d", name: "long log" }),
];

/**
 * What clients sent to the server while something was done, by name; left out is what scripts did, and that the control record
 * is read each second.
 */
async function commandsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const watcher = new Redis(own.server.socket);
  const monitor = await watcher.monitor();
  const seen: string[] = [];
  const logged = new Promise<void>((resolve) => {
    monitor.on("monitor", (_, [command = "", ...args]: string[], source: string) => {
      if (command.toLowerCase() === "lastsave") resolve();
      else if (source !== "lua" && args[2] !== "hg:{control}") seen.push(command.toLowerCase());
    });
  });
  await work();
  await own.client.lastsave();
  await logged;
  monitor.disconnect();
  watcher.disconnect();
  return seen;
}

describe("a decision is one EVALSHA", () => {
  test.each([1, 2, 3, 7])("a decision by %i limits is one EVALSHA", async (count) => {
    const limits = everyAlgorithm.slice(-count);
    const store = requireStore(redisStore(own.client));
    const limiter = createLimiter({ ...STORE_ALONE, name: `limits-${count}`, limits, store });
    await limiter.consume("warm");
    const decide = async () => {
      for (let i = 0; i < 75; i += 1) await limiter.consume("u");
    };
    expect(await commandsDuring(decide)).toEqual(new Array(75).fill("evalsha"));
    expect(await limiter.consume("u")).toMatchObject({ allowed: false, source: "store" });
    await limiter.close();
  });

  test("a denial cached within the last second takes no command", async () => {
    let now = 1_800_000_000_000;
    const limiter = createLimiter({
      name: "remembered",
      limits: everyAlgorithm,
      store: requireStore(redisStore(own.client, { clock: () => now })),
      storeTimeout: "1m",
    });
    await limiter.peek("u");
    await limiter.consume("u", { cost: 50 });
    const denied = await limiter.consume("u");
    expect(denied).toMatchObject({ allowed: false, source: "store" });
    now += 999;
    const requestRepeatedly = async () => {
      for (let i = 0; i < 20; i += 1) {
        expect(await limiter.consume("u")).toMatchObject({
          allowed: false,
          source: "deny-cache",
          degraded: false,
          retryAfterMs: denied.retryAfterMs - 999,
        });
      }
    };
    expect(await commandsDuring(requestRepeatedly)).toEqual([]);
    // Another cost, another subject, a look, or a second later: what was remembered does not say.
    const requestOthers = async () => {
      await limiter.consume("u", { cost: 2 });
      await limiter.consume("v");
      now += 1;
      expect((await limiter.consume("u")).source).toBe("store");
      expect((await limiter.peek("u")).source).toBe("store");
    };
    expect(await commandsDuring(requestOthers)).toEqual(new Array(4).fill("evalsha"));
    await limiter.close();
  });

  test("a decision by several dimensions, or by a limiter that extends another, is one EVALSHA", async () => {
    const store = requireStore(redisStore(own.client));
    const parent = createLimiter({
      name: "parent",
      limits: [gcra({ limit: 5, window: "1h" }), gcra({ limit: 9, window: "1h", per: "tenant" })],
      storeTimeout: "1m",
      store,
    });
    const child = createLimiter({
      name: "child",
      limits: slidingLog({ limit: 5, window: "1h", per: "global" }),
      storeTimeout: "1m",
      store,
      extends: parent,
    });
    const subject = { default: "u", tenant: "t" };
    await child.consume(subject);
    const request = async () => {
      const decision = await child.consume(subject);
      await child.peek(subject);
      await child.charge(subject);
      await child.refund(decision);
      await child.reset(subject);
    };
    const seen = await commandsDuring(request);
    // The first call of each script sends its text.
    expect(seen).toEqual(["evalsha", "eval", "eval", "eval", "eval"]);
    expect(await commandsDuring(request)).toEqual(new Array(5).fill("evalsha"));
  });

  test("a decision writes each counter once, and a denial writes nothing", async () => {
    const limits = everyAlgorithm.slice(0, 4);
    const store = requireStore(redisStore(own.client));
    const limiter = createLimiter({ ...STORE_ALONE, name: "writes", limits, store });
    await limiter.consume("u", { cost: 50 });
    await resetCommandStats(own.client);
    await limiter.consume("v");
    expect((await readCommandStats(own.client, "set")).calls).toBe(1);
    expect((await readCommandStats(own.client, "get")).calls).toBe(1);
    await resetCommandStats(own.client);
    for (let i = 0; i < 10; i += 1) await limiter.consume("u");
    await limiter.peek("v");
    expect((await readCommandStats(own.client, "set")).calls).toBe(0);
    expect((await readCommandStats(own.client, "get")).calls).toBe(11);
    // The control record may have been read meanwhile.
    expect([11, 12]).toContain((await readCommandStats(own.client, "time")).calls);
  });
});

/** What a user of Redis needs to be allowed for everything that Headgate does. */
const NEEDED = [
  "evalsha",
  "eval",
  "time",
  "get",
  "set",
  "del",
  "strlen",
  "getrange",
  "setrange",
  "pexpire",
];

/** Those of them that every decision may need; `del` is for resets and refunds. */
const IN_DECISIONS = new Set(NEEDED.filter((command) => command !== "del"));

describe("a user without other permissions", () => {
  /** Connects as a user who may run some commands, on keys with a prefix. */
  async function connectAs(
    name: string,
    commands: readonly string[],
    keys = "~hg:*",
  ): Promise<Redis> {
    const grants = commands.map((command) => `+${command}`);
    await own.client.call("ACL", "SETUSER", name, "reset", "on", "nopass", keys, ...grants);
    // Without a password of its own, any is taken; the client's own checks need other permissions.
    return new Redis(own.server.socket, {
      username: name,
      password: "any",
      enableReadyCheck: false,
      disableClientInfo: true,
    });
  }

  /** Everything that Headgate does, with every algorithm: charges, denies, looks, waits, gives back, forgets and probes. */
  async function useEverything(client: Redis): Promise<void> {
    let now = 1_800_000_000_000;
    const limiters: Limiter[] = [];
    for (const store of [
      requireStore(redisStore(client)),
      requireStore(redisStore(client, { prefix: "hg", clock: () => now })),
    ]) {
      const limiter = createLimiter({
        ...STORE_ALONE,
        name: "acl",
        limits: everyAlgorithm,
        store,
        // Whatever is decided without the store shall not end in a wait.
        onUnavailable: "allow",
      });
      limiters.push(limiter);
      const first = await limiter.consume("u");
      const decisions = [];
      for (let i = 0; i < 60; i += 1) decisions.push(await limiter.consume("u"));
      for (const decision of decisions.slice(0, 20)) await limiter.refund(decision);
      now += 1_000;
      await limiter.peek("u");
      await limiter.wait("u");
      await limiter.refund(first);
      await limiter.reset("u");
      const slots = createLimiter({
        ...STORE_ALONE,
        name: "acl-slots",
        limits: concurrency({ limit: 2, ttl: "1m" }),
        store,
        onUnavailable: "allow",
      });
      limiters.push(slots);
      await slots.run("u", () => {});
      await slots.release(await slots.consume("u"));
      await store.run(probe, probeKeyFor("hg:{u}:acl:default:fingerprint"));
    }
    // A problem is logged again once all limiters are closed and new ones are created.
    for (const limiter of limiters) await limiter.close();
  }

  /** Why the first thing failed that did; undefined when nothing did. */
  async function failureOf(client: Redis): Promise<unknown> {
    let thrown: unknown;
    const degraded = await degradedDuring(async () => {
      await useEverything(client).catch((error) => {
        thrown = error;
      });
    });
    return degraded[0]?.reason ?? thrown;
  }

  test(`needs ${NEEDED.map((command) => `+${command}`).join(" ")} on its keys, and nothing else`, async () => {
    const client = await connectAs("limited", NEEDED);
    expect(await failureOf(client)).toBeUndefined();
    client.disconnect();
  });

  test.each(NEEDED)(
    "without %s something fails, with the server's own error as cause",
    async (command) => {
      await own.client.script("FLUSH");
      const client = await connectAs(
        "lacking",
        NEEDED.filter((other) => other !== command),
      );
      const warnings = watchWarnings();
      const error = (await failureOf(client)) as HeadgateError;
      expect(error.code).toBe("HEADGATE_STORE_MISCONFIGURED");
      const { message } = error.cause as Error;
      expect(message).toMatch(/NOPERM|can't run this command|ACL failure/);
      expect(message).not.toMatch(/HEADGATE/);
      // Headgate's own message may reach a client of the application. The operator reads the server's message, once.
      expect(error.message).not.toContain(message);
      await new Promise(setImmediate);
      const logged = warnings.map((warning) => warning.message);
      expect(logged.length, command).toBe(new Set(logged).size);
      if (IN_DECISIONS.has(command)) {
        expect(logged.join()).toContain(message);
        expect(new Set(warnings.map(({ code }) => code))).toEqual(new Set([error.code]));
      }
      client.disconnect();
    },
  );

  test("a key outside the user's ACL is a permission error, not a wrong type", async () => {
    const client = await connectAs("elsewhere", NEEDED, "~other:*");
    const limiter = createLimiter({
      name: "acl",
      limits: gcra({ limit: 1, window: "1m" }),
      store: requireStore(redisStore(client)),
      ...STORE_ALONE,
    });
    expect(await reasonOf(() => limiter.consume("u"))).toMatchObject({
      code: "HEADGATE_STORE_MISCONFIGURED",
      cause: { message: expect.stringMatching(/^NOPERM/) },
    });
    await expect(limiter.reset("u")).rejects.toMatchObject({
      code: "HEADGATE_STORE_MISCONFIGURED",
      cause: { message: expect.stringMatching(/^NOPERM/) },
    });
    const own = createLimiter({
      name: "acl",
      limits: gcra({ limit: 1, window: "1m" }),
      store: requireStore(redisStore(client, { prefix: "other" })),
      ...STORE_ALONE,
    });
    expect(await own.consume("u")).toMatchObject({ allowed: true, source: "store" });
    client.disconnect();
  });
});
