import type { Limiter, Store } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { readRegistry } from "@headgate/core/admin";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { blocksOf, page } from "../docs/markdown.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";

const own = useOwnRedis();

/** A client that was logged in as a user who has some permissions. */
async function connectAs(name: string, ...permissions: readonly string[]): Promise<Redis> {
  await own.client.call("ACL", "SETUSER", name, "reset", "on", "nopass", ...permissions);
  const client = new Redis(own.server.socket, {
    username: name,
    password: "any",
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  onTestFinished(() => client.disconnect());
  return client;
}

/** The permissions that a page shows for a user. */
function documented(path: string, user: string): string[] {
  const [, , , ...permissions] =
    blocksOf([page(path)], "text")
      .map(({ text }) => text.trim().split(" "))
      .find(([acl, setuser, name]) => `${acl} ${setuser} ${name}` === `ACL SETUSER ${user}`) ?? [];
  return permissions.filter((permission) => permission !== "on" && !permission.startsWith(">"));
}

function start(client: RedisClient): { limiter: Limiter; store: Store } {
  const store = redisStore(client);
  const limits = gcra({ limit: 5, window: "1h" });
  const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "10s" }) as Limiter;
  onTestFinished(() => limiter.close());
  return { limiter, store };
}

/** Warnings come a turn of the loop later. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("the documented Redis users", () => {
  test("an application is listed with its permissions for counting", async () => {
    const warnings = watchWarnings();
    const permissions = documented("docs/reference/redis.md", "headgate");
    expect(permissions).toContain("~hg:*");
    const { limiter, store } = start(await connectAs("headgate", ...permissions));
    await writeRegistry(store);
    await writeRegistry(store);
    expect((await readRegistry(own.client)).limiters).toMatchObject([{ name: "api" }]);
    await limiter.close();
    expect((await readRegistry(own.client)).processes).toEqual([]);
    await turn();
    expect(warnings).toEqual([]);
  });

  test("a reader sees the registry, and nothing else", async () => {
    const { limiter, store } = start(own.client);
    await limiter.consume("u");
    await writeRegistry(store);
    const permissions = documented("docs/reference/usage.md", "headgate-registry");
    expect(permissions).toContain("~hg:{registry}*");
    const client = await connectAs("headgate-registry", ...permissions);
    expect(await readRegistry(client)).toEqual(await readRegistry(own.client));
    const [key = ""] = await own.client.keys("hg:{u}*");
    await expect(client.get(key)).rejects.toThrow("NOPERM");
    await expect(client.del("hg:{registry}")).rejects.toThrow("NOPERM");
  });
});

describe("a server that refuses to keep a registry", () => {
  /** Each takes the right to write away, after the limiter was made. */
  const refusals: Record<string, () => Promise<{ client: Redis; words: string }>> = {
    async NOPERM() {
      const commands = ["evalsha", "eval", "get", "set", "setrange", "pexpire", "time"];
      const client = await connectAs("u-only", "~hg:{u}*", ...commands.map((one) => `+${one}`));
      return { client, words: "NOPERM" };
    },
    async OOM() {
      const client = new Redis(own.server.socket);
      await own.client.config("SET", "maxmemory", "1");
      onTestFinished(async () => {
        client.disconnect();
        await own.client.config("SET", "maxmemory", "0");
      });
      return { client, words: "OOM" };
    },
    async READONLY() {
      const client = new Redis(own.server.socket);
      await own.client.replicaof("127.0.0.1", 1);
      onTestFinished(async () => {
        client.disconnect();
        await own.client.replicaof("NO", "ONE");
      });
      return { client, words: "READONLY" };
    },
  };

  test.each(Object.keys(refusals))(
    "%s: is logged once, and limits are decided as they would be",
    async (name) => {
      const warnings = watchWarnings();
      const { client, words } = await (refusals[name] as (typeof refusals)[string])();
      const { limiter, store } = start(client);
      for (let i = 0; i < 3; i += 1) await writeRegistry(store);
      await turn();
      // A call of an earlier test that ends with its connection may be reported meanwhile.
      const refused = warnings.filter(({ code }) => code === "HEADGATE_REGISTRY_REFUSED");
      expect(refused).toMatchObject([{ message: expect.stringContaining(words) }]);
      // Where counters cannot be written either, it is what onUnavailable says.
      const isCounted = name === "NOPERM";
      expect(await limiter.consume("u")).toMatchObject({ allowed: true, degraded: !isCounted });
      await limiter.close();
    },
  );

  test("a value of another type under the key of the registry is logged once", async () => {
    const warnings = watchWarnings();
    await own.client.sadd("hg:{registry}", "x");
    const { limiter, store } = start(own.client);
    for (let i = 0; i < 3; i += 1) await writeRegistry(store);
    await turn();
    expect(warnings).toMatchObject([{ code: "HEADGATE_REGISTRY_REFUSED" }]);
    expect(await limiter.consume("u")).toMatchObject({ allowed: true, degraded: false });
  });
});

test("a server that hangs while the registry is written delays no request, and causes no warning", async () => {
  const warnings = watchWarnings();
  const client = new Redis(own.server.socket);
  onTestFinished(() => client.disconnect());
  const store = redisStore(client);
  const limits = gcra({ limit: 5, window: "1h" });
  const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "100ms" });
  await limiter.consume("u");
  own.server.freeze();
  onTestFinished(() => own.server.thaw());
  const writing = writeRegistry(store);
  const started = performance.now();
  expect(await limiter.consume("u")).toMatchObject({ degraded: true });
  // The time that every request has, and what a busy machine adds.
  expect(performance.now() - started).toBeLessThan(1_000);
  own.server.thaw();
  await writing;
  expect((await readRegistry(own.client)).limiters).toMatchObject([{ name: "api" }]);
  await limiter.close();
  const codes = warnings.map(({ code }) => code);
  expect(codes).not.toContain("HEADGATE_REGISTRY_REFUSED");
});
