import { createBreaker } from "@headgate/breaker";
import { createLimiter, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { probeKeyFor } from "../../../packages/core/src/operations/probe.ts";
import { Random } from "../../conformance/random/random.ts";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";

const TARGETS = 200;

let server: RedisProcess;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.socket);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(() => redis.flushall());

/** Texts that mean something in a key, or to Lua, or that look like the escapes of others. */
const HOSTILE = [
  ..."{ } {} }{ : :: % # * ? [ ] \\ / | \0 \n \r\n \x7f".split(" "),
  ..."a{b}c {a}{b} %7b %7b%7d %u007b #x breaker/names :breaker/names probe __proto__ constructor".split(
    " ",
  ),
  "hg:{a}:breaker/names",
  "a}:breaker/names",
  "a:breaker/names:AAAAAAAA",
  "ä",
  "a\u0308",
  "💧",
  "\ud83d",
  "\udca7",
  "\ufeff",
  " ",
  "x".repeat(10_240),
  `${"x".repeat(10_239)}y`,
  "{".repeat(10_240),
  "💧".repeat(2_560),
  "x".repeat(64),
  "x".repeat(65),
];

const PIECES = [..."{}:%#/*ab\0", "%7b", "%u", "💧", "\ud83d", "breaker", "probe", "x".repeat(60)];

function randomTarget(random: Random): string {
  return Array.from({ length: random.whole(1, 6) }, () => random.pick(PIECES)).join("");
}

/** What a cluster takes for the key's place: what its first braces enclose, where that is something. */
function hashTag(key: string): string | undefined {
  return /^[^{]*\{([^}]+)\}/.exec(key)?.[1];
}

/** Both keys of each target, after it has opened. */
async function openAll(name: string, targets: readonly string[]): Promise<string[]> {
  const breaker = createBreaker({
    name,
    store: redisStore(redis),
    storeTimeout: "1m",
    minimumCalls: 1,
    flushInterval: 0,
  });
  for (const target of targets) {
    const one = breaker.for(target);
    await one.record("failure");
    expect(await one.snapshot(), target.slice(0, 100)).toMatchObject({ state: "open", calls: 1 });
  }
  await breaker.close();
  return redis.keys("*");
}

test.for([1, 2, 3])(
  "each target has two short keys of its own in one hash slot, whatever its name (seed %i)",
  async (seed) => {
    const random = new Random(seed);
    const targets = new Set(HOSTILE);
    while (targets.size < TARGETS) targets.add(randomTarget(random));
    const keys = await openAll("names", [...targets]);
    // Had two of them shared a key, the second would have found it open.
    expect(keys).toHaveLength(2 * targets.size);
    const tags = new Map<string, number>();
    for (const key of keys) {
      expect(key).toMatch(/^hg:\{[\w.~@/:%#-]+\}:breaker\/names(:[\w-]{8})?$/);
      expect(key.length).toBeLessThan(110);
      const tag = hashTag(key) as string;
      tags.set(tag, (tags.get(tag) ?? 0) + 1);
    }
    expect(tags.size).toBe(targets.size);
    expect(new Set(tags.values())).toEqual(new Set([2]));
  },
);

test("breakers of different names have different keys", async () => {
  const names = [...new Set(HOSTILE.map((name) => name.slice(0, 512)))];
  const before = new Set<string>();
  for (const name of names) {
    const keys = await openAll(name, ["payments"]);
    const added = keys.filter((key) => !before.has(key));
    expect(added, name.slice(0, 100)).toHaveLength(2);
    for (const key of added) {
      expect(hashTag(key)).toBe("payments");
      before.add(key);
    }
  }
});

test("breakers share no keys with limiters or health probes", async () => {
  const subjects = HOSTILE.slice(0, 30);
  const ofBreakers = new Set(await openAll("names", subjects));
  const tried = [...ofBreakers].map(probeKeyFor);
  expect(tried.filter((key) => ofBreakers.has(key))).toEqual([]);
  for (const name of ["breaker", "breaker/names", "names", "breaker/names:AAAAAAAA", "probe"]) {
    const limiter = createLimiter({
      ...STORE_ALONE,
      name,
      limits: [
        gcra({ limit: 5, window: "1h" }),
        slidingLog({ limit: 5, window: "1h", name: "log" }),
      ],
      store: redisStore(redis),
    });
    for (const subject of subjects) {
      expect(await limiter.consume(subject)).toMatchObject({ source: "store", remaining: 4 });
      await limiter.reset(subject);
      await limiter.consume(subject);
    }
    await limiter.close();
  }
  const all = await redis.keys("*");
  // A limiter's counter and its log; what it forgot was its own.
  expect(all).toHaveLength(ofBreakers.size + 5 * subjects.length * 2);
  const again = createBreaker({ name: "names", store: redisStore(redis), minimumCalls: 1 });
  for (const subject of subjects) {
    expect(await again.for(subject).snapshot()).toMatchObject({ state: "open", degraded: false });
  }
  await again.close();
});
