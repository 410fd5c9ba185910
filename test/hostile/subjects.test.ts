import { test } from "@fast-check/vitest";
import type { Limiter, Store } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { hostileFamily, hostileText, runs } from "./hostile-texts.ts";
import { expectOurKeys, FROM_REDIS } from "./redis-of-our-own.ts";

/** Unusual subjects for client libraries, scripts, keys and maps, through limiters as users create them. */

const own = useOwnRedis();
let nodeRedis: Awaited<ReturnType<typeof connectNodeRedis>>;
const limiters: Limiter[] = [];

beforeAll(async () => {
  nodeRedis = await connectNodeRedis();
});
afterAll(() => nodeRedis.close());
afterEach(() => Promise.all(limiters.splice(0).map((limiter) => limiter.close())));

function connectNodeRedis() {
  return createClient({ socket: { path: own.server.socket, tls: false } }).connect();
}

const stores: [name: string, make: () => Store][] = [
  ["memory", () => memoryStore()],
  ["ioredis", () => redisStore(own.client, { prefix: "here" })],
  ["node-redis", () => redisStore(nodeRedis, { prefix: "here" })],
];

function start(store: Store, name = "api"): Limiter {
  const limits = [fixedWindow({ limit: 1, window: "1d" }), slidingLog({ limit: 5, window: "1d" })];
  const limiter = createLimiter({ name, limits, store, ...FROM_REDIS });
  limiters.push(limiter);
  return limiter;
}

describe.each(stores)("%s", (kind, make) => {
  test.prop([hostileFamily], runs(24))("counts each subject separately", async (subjects) => {
    await own.client.flushall();
    const limiter = start(make());
    const firsts = await Promise.all(subjects.map((subject) => limiter.consume(subject)));
    const seconds = await Promise.all(subjects.map((subject) => limiter.consume(subject)));
    await limiter.close();
    const shared = subjects.filter((_, i) => !firsts[i]?.allowed || seconds[i]?.allowed);
    expect(shared).toEqual([]);
    if (kind === "memory") return;
    const keys = expectOurKeys(await own.scan(), "here");
    expect(keys).toHaveLength(2 * subjects.length);
    const tags = new Set(keys.map((key) => /\{(.*?)\}/.exec(key)?.[1]));
    expect(tags.size).toBe(subjects.length);
  });

  test.prop([hostileText], runs(24))("reset and refund affect only that subject", async (text) => {
    await own.client.flushall();
    const limiter = start(make());
    const others = [`${text}*`, `*${text}`, "*", "?", `[${text}]`, `${text}}`];
    for (const other of others) if (other !== text) await limiter.consume(other);
    const decision = await limiter.consume(text);
    expect(decision.allowed).toBe(true);
    expect(await limiter.refund(decision)).toBe(true);
    expect((await limiter.consume(text)).allowed).toBe(true);
    expect(await limiter.reset(text)).toBe(true);
    expect(await limiter.reset(text)).toBe(false);
    for (const other of others) {
      if (other !== text) expect((await limiter.peek(other)).allowed).toBe(false);
    }
    await limiter.close();
  });

  test.prop([hostileText, hostileText], runs(24))(
    "counts names and subjects apart that together read the same",
    async (a, b) => {
      await own.client.flushall();
      const store = make();
      const name = (text: string) => text.slice(0, 512);
      const pairs = new Map<string, [name: string, subject: string]>();
      for (const pair of [
        [name(a), b],
        [name(b), a],
        [name(`${a}:${b}`), b],
        [name(a), `${b}}:${a}`],
        [name(`${a}}`), b],
        [name(a), `{${b}`],
      ] satisfies [string, string][]) {
        pairs.set(JSON.stringify(pair), pair);
      }
      const made = new Map<string, Limiter>();
      for (const [called, subject] of pairs.values()) {
        const limiter = made.get(called) ?? start(store, called);
        made.set(called, limiter);
        expect((await limiter.consume(subject)).allowed).toBe(true);
      }
      await Promise.all([...made.values()].map((limiter) => limiter.close()));
      if (kind !== "memory") expectOurKeys(await own.scan(), "here");
    },
  );

  test.prop([hostileText, hostileText], runs(24))(
    "takes several dimensions for what they are called",
    async (one, other) => {
      await own.client.flushall();
      const limits = [
        gcra({ limit: 1, window: "1d", per: "constructor" }),
        gcra({ limit: 1, window: "1d", per: "__proto__" }),
      ];
      const limiter = createLimiter({ name: "api", limits, store: make(), ...FROM_REDIS });
      limiters.push(limiter);
      const named = (first: string, second: string) =>
        JSON.parse(
          JSON.stringify({ constructor: first, second }).replace('"second":', '"__proto__":'),
        );
      expect((await limiter.consume(named(one, other))).allowed).toBe(true);
      const denied = await limiter.consume(named(one, `${other}!`));
      expect(denied.limits.map(({ allowed }) => allowed)).toEqual([false, true]);
      await limiter.close();
    },
  );
});

test("all keys are under the prefix", async () => {
  const expected = new Set<string>();
  for (const prefix of ["hg", "a.b-c_d", "x".repeat(32)]) {
    const limiter = start(redisStore(own.client, { prefix }));
    await limiter.consume("}:evil:{a");
    await limiter.close();
    for (const key of await own.scan()) {
      if (key.toString().startsWith(`${prefix}:`)) expected.add(key.toString());
    }
  }
  expect(expected.size).toBe(6);
  expect(await own.client.dbsize()).toBe(6);
});
