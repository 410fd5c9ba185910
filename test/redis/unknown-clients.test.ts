import { createRequire } from "node:module";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Redis as Upstash } from "@upstash/redis";
import type { GlideClient, GlideClusterClient } from "@valkey/valkey-glide";
import { Batch, ClusterBatch } from "@valkey/valkey-glide";
import { Redis } from "ioredis";
import { Redis as Valkey } from "iovalkey";
import * as nodeRedis from "redis";
import * as nodeRedis4 from "redis4";
import * as nodeRedis5 from "redis5";
import { expect, expectTypeOf, inject, onTestFinished, test } from "vitest";

/** node-redis 3 has no types of its own. */
interface NodeRedis3 {
  createClient(socket: string): { end(flush: boolean): void };
}

const require = createRequire(import.meta.url);
const nodeRedis3 = require("redis3") as NodeRedis3;
const rootNodes = [{ url: "redis://127.0.0.1:1" }];

/** What has methods to run scripts, which take other arguments or promise nothing, and what to do about each. */
const unknownClients: Record<string, [make: () => unknown, remedy: string]> = {
  "node-redis 3": [
    () => {
      const client = nodeRedis3.createClient(inject("redisSocket"));
      onTestFinished(() => client.end(true));
      return client;
    },
    "use ioredis, iovalkey or node-redis 5 or later",
  ],
  "node-redis 4": [() => nodeRedis4.createClient(), "install node-redis 5 or later"],
  "node-redis 4, cluster": [
    () => nodeRedis4.createCluster({ rootNodes }),
    "install node-redis 5 or later",
  ],
  "node-redis 4 with legacyMode": [
    () => nodeRedis4.createClient({ legacyMode: true }),
    "install node-redis 5 or later",
  ],
  "node-redis 4 with legacyMode, v4": [
    () => nodeRedis4.createClient({ legacyMode: true }).v4,
    "install node-redis 5 or later",
  ],
  "node-redis 5, legacy()": [
    () => nodeRedis5.createClient().legacy(),
    "pass what createClient() returns, without legacyMode or legacy()",
  ],
  "node-redis 6, legacy()": [
    () => nodeRedis.createClient().legacy(),
    "pass what createClient() returns, without legacyMode or legacy()",
  ],
  "a transaction of ioredis": [
    () => new Redis({ password: "secret", lazyConnect: true }).multi(),
    "pass the client itself",
  ],
  "a pipeline of iovalkey": [
    () => new Valkey({ password: "secret", lazyConnect: true }).pipeline(),
    "pass the client itself",
  ],
  "a batch of Valkey GLIDE": [() => new Batch(true), "pass the client itself"],
  "a batch of Valkey GLIDE, for a cluster": [
    () => new ClusterBatch(false),
    "pass the client itself",
  ],
  "a promise of a client": [
    () => Promise.resolve(new Redis({ password: "secret", lazyConnect: true })),
    "await it",
  ],
  "@upstash/redis": [
    () => new Upstash({ url: "https://redis.example.com", token: "secret" }),
    "use ioredis, iovalkey or node-redis 5 or later",
  ],
};

test.each(Object.entries(unknownClients))(
  "redisStore rejects %s instead of degrading every decision",
  (_, [make, remedy]) => {
    const client = make() as RedisClient;
    expect(() => redisStore(client)).toThrow(
      expect.objectContaining({
        code: "HEADGATE_UNKNOWN_REDIS_CLIENT",
        message: expect.stringContaining(remedy),
      }),
    );
    expect(() => redisStore(client)).not.toThrow(/secret|example/);
  },
);

test("rejected clients do not type-check either", () => {
  expectTypeOf(nodeRedis4.createClient()).not.toExtend<RedisClient>();
  expectTypeOf(nodeRedis.createClient().legacy()).not.toExtend<RedisClient>();
  expectTypeOf<Upstash>().not.toExtend<RedisClient>();
  expectTypeOf<Batch>().not.toExtend<RedisClient>();
  expectTypeOf<Promise<GlideClient>>().not.toExtend<RedisClient>();
  expectTypeOf(nodeRedis.createClient()).toExtend<RedisClient>();
  expectTypeOf<GlideClient>().toExtend<RedisClient>();
  expectTypeOf<GlideClusterClient>().toExtend<RedisClient>();
});

test("redisStore reads only the expected methods of a client, because other getters may throw", () => {
  const read = new Set<PropertyKey>();
  const client = new Proxy(nodeRedis4.createClient(), {
    get(target, name, receiver) {
      read.add(name);
      return Reflect.get(target, name, receiver);
    },
  });
  expect(() => redisStore(client as unknown as RedisClient)).toThrow(/node-redis 5 or later/);
  expect([...read].sort()).toEqual([
    "customCommand",
    "eval",
    "evalSha",
    "evalshaBuffer",
    "withTypeMapping",
  ]);
});
