import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { readUsage } from "@headgate/core/admin";
import type { CountingStore } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { limiterKey } from "../../packages/core/src/usage/layout.ts";
import type {
  LimiterCounts,
  SubjectList,
  UsageCall,
} from "../../packages/core/src/usage/operations.ts";
import { addUsage, USAGE_STATES } from "../../packages/core/src/usage/operations.ts";
import { UsageCounter } from "../../packages/core/src/usage/usage-counter.ts";
import { useOwnRedis } from "../support/own-redis.ts";

const own = useOwnRedis();

const INDEX = "hg:{usage}";
/** At the beginning of ten minutes. */
const NOW = 1_800_000_000_000;

function storeAt(now: number, prefix?: string): CountingStore {
  return requireStore(redisStore(own.client, { clock: () => now, prefix }));
}

/** What a process counted of a limiter, in one row. */
function counted(name: string, at = NOW, part: Partial<LimiterCounts> = {}): LimiterCounts {
  const row = { at: at * 1_000, allowed: 2, denied: 1, degraded: 1 };
  return { name, rows: [row], ...part };
}

/** A list of one subject. */
const ONE: SubjectList = [0, 3, "default#0123456789abcdef", 3, 0];

let number = 0;

/** Adds what a process counted; resolves with what the step says. */
async function add(
  limiters: readonly LimiterCounts[],
  call: Partial<UsageCall> = {},
  now = NOW,
): Promise<readonly number[]> {
  number += 1;
  const whole = {
    prefix: "hg",
    process: nameOf(0),
    number,
    clock: now * 1_000,
    clockOffset: 0,
    blocks: [],
    limiters,
  };
  const [, ...states] = await storeAt(now).run(addUsage, { ...whole, ...call });
  return states;
}

function nameOf(process: number): string {
  return `process-${String(process).padStart(8, "0")}`;
}

function readAt(now: number, options: Parameters<typeof readUsage>[1] = {}) {
  return readUsage(storeAt(now), options);
}

describe("a usage call", () => {
  test("that is repeated counts once, also if it arrives late", async () => {
    expect(await add([counted("api")], { number: 7 })).toEqual([USAGE_STATES.done, 1]);
    expect(await add([counted("api")], { number: 7 })).toEqual([USAGE_STATES.repeated, 0]);
    expect(await add([counted("api")], { number: 8 })).toEqual([USAGE_STATES.done, 1]);
    expect(await add([counted("api")], { number: 7 })).toEqual([USAGE_STATES.repeated, 0]);
    // Another process has numbers of its own.
    await add([counted("api")], { number: 7, process: nameOf(1) });
    expect((await readAt(NOW)).limiters[0]?.total).toEqual({ allowed: 6, denied: 3, degraded: 3 });
  });

  test("from a process with a different clock changes nothing", async () => {
    for (const away of [-5_001, 5_001]) {
      expect(await add([counted("api")], { clock: (NOW + away) * 1_000 })).toEqual([
        USAGE_STATES.clockSkew,
        0,
      ]);
    }
    expect(await own.scan()).toEqual([]);
    expect(await add([counted("api")], { clock: (NOW + 5_000) * 1_000 })).toEqual([1, 1]);
  });

  test("has keys in one hash slot, which all expire within 31 days", async () => {
    const lists = { used: ONE, denied: ONE, denials: { "default a": 1 } };
    await add([counted("api", NOW, { subjects: lists }), counted("")]);
    const keys = (await own.scan()).map(String).sort();
    const day = 1_799_971_200;
    expect(keys).toEqual([
      INDEX,
      `${INDEX}:bounds/api/1800000000`,
      `${INDEX}:day-denials/api/${day}`,
      `${INDEX}:denials/api/1800000000`,
      `${INDEX}:denied/api/1800000000`,
      `${INDEX}:hours/*/${day}`,
      `${INDEX}:hours/api/${day}`,
      `${INDEX}:minutes/*/1800000000`,
      `${INDEX}:minutes/api/1800000000`,
      `${INDEX}:process/${nameOf(0)}`,
      `${INDEX}:seconds/*/1800000000`,
      `${INDEX}:seconds/api/1800000000`,
      `${INDEX}:used/api/1800000000`,
    ]);
    for (const key of keys) {
      const rest = await own.client.pttl(key);
      const isLong = /(?:hours|day-denials|usage\}$)/.test(key);
      expect(rest).toBeGreaterThan(3_000_000);
      expect(rest).toBeLessThanOrEqual(isLong ? 2_678_400_001 : 90_000_001);
    }
  });

  test("leaves values that redis-cli shows in plain text", async () => {
    const used = [1, 9, "default 203.0.113.7", 5, 0, "default#0123456789abcdef", 3, 2];
    const subjects = { used, denied: [], denials: { "default 5-per-1h": 2, block: 1 } };
    await add([counted("api", NOW + 70_000, { subjects })], {}, NOW + 70_000);
    const read = (kind: string, from = 1_800_000_000) =>
      own.client.hgetall(`${INDEX}:${kind}/api/${from}`);
    expect(await read("seconds")).toEqual({ 1800000070: "2 1 1" });
    expect(await read("minutes")).toEqual({ 1800000060: "2 1 1" });
    expect(await read("hours", 1_799_971_200)).toEqual({ 1800000000: "2 1 1" });
    expect(await read("denials")).toEqual({ "default 5-per-1h": "2", block: "1" });
    expect(
      await own.client.zrange(`${INDEX}:used/api/1800000000`, "0", "-1", "WITHSCORES"),
    ).toEqual(["default#0123456789abcdef", "3", "default 203.0.113.7", "5"]);
    expect(await read("bounds")).toEqual({
      "used missed": "1",
      "used total": "9",
      "used floor": "0",
      "used default#0123456789abcdef": "2",
    });
    expect(await own.client.zrange(INDEX, "0", "-1", "WITHSCORES")).toEqual(["api", "1800000070"]);
    expect(await own.client.hgetall(`${INDEX}:process/${nameOf(0)}`)).toEqual({
      call: String(number),
      at: "1800000070",
    });
  });
});

describe("the counts over time", () => {
  test("have steps of ten seconds for 15 minutes, and of a minute for a day", async () => {
    const times = [0, 9_999, 10_000, 599_999, 600_000, 900_000 - 1];
    for (const ms of times) await add([counted("api", NOW + ms)], {}, NOW + ms);
    const last = NOW + 900_000 - 1;
    const [api] = (await readAt(last)).limiters;
    const part = { allowed: 2, denied: 1, degraded: 1 };
    const twice = { allowed: 4, denied: 2, degraded: 2 };
    expect(api?.tenSeconds).toEqual([
      { from: NOW, ...twice },
      { from: NOW + 10_000, ...part },
      { from: NOW + 590_000, ...part },
      { from: NOW + 600_000, ...part },
      { from: NOW + 890_000, ...part },
    ]);
    expect(api?.minutes).toEqual([
      { from: NOW, allowed: 6, denied: 3, degraded: 3 },
      { from: NOW + 540_000, ...part },
      { from: NOW + 600_000, ...part },
      { from: NOW + 840_000, ...part },
    ]);
    expect(api?.total).toEqual({ allowed: 12, denied: 6, degraded: 6 });
    // A total is of whole steps.
    const total = async (now: number, span: "10s" | "15m" | "24h") =>
      (await readAt(now, { span })).limiters[0]?.total;
    expect(await total(last, "10s")).toEqual(part);
    expect(await total(last, "15m")).toEqual({ allowed: 12, denied: 6, degraded: 6 });
    expect(await total(last + 1, "15m")).toEqual({ allowed: 8, denied: 4, degraded: 4 });
    expect(await total(last, "24h")).toEqual({ allowed: 12, denied: 6, degraded: 6 });
  });

  test("are not read if older, and late ones are added where they belong", async () => {
    await add([counted("api")]);
    const later = NOW + 900_000;
    await add([counted("api", later), counted("api", NOW + 10_000)], {}, later);
    const [api] = (await readAt(later)).limiters;
    expect(api?.tenSeconds.map(({ from }) => from)).toEqual([NOW + 10_000, later]);
    expect(api?.minutes[0]).toEqual({ from: NOW, allowed: 4, denied: 2, degraded: 2 });
    // A step of ten seconds that nobody reads any more is not written.
    await own.client.flushall();
    await add([counted("api", NOW - 10_000)], {}, later);
    expect(await own.client.keys("*:seconds/*")).toEqual([]);
    expect((await readAt(later)).limiters[0]?.total).toMatchObject({ allowed: 2 });
    const day = NOW + 86_400_000;
    expect((await readAt(day, { span: "24h" })).limiters[0]?.minutes).toEqual([]);
  });

  test("are exact up to the largest safe integer, and stop there", async () => {
    const row = { at: NOW * 1_000, allowed: 2 ** 52, denied: 3, degraded: 0 };
    for (const allowed of [2 ** 52, Number.MAX_SAFE_INTEGER]) {
      for (let i = 0; i < 2; i += 1) await add([counted("api", NOW, { rows: [row] })]);
      const found = (await readAt(NOW, { span: "10s" })).limiters[0]?.total.allowed;
      expect(found).toBe(allowed === 2 ** 52 ? Number.MAX_SAFE_INTEGER : allowed);
    }
  });
});

describe("the limiters of usage", () => {
  test("number at most 500, and the others are counted together", async () => {
    const names = Array.from({ length: 503 }, (_, i) => `limiter ${i}`);
    const states = await add(names.map((name) => counted(name)));
    expect(states.filter((state) => state === 2)).toHaveLength(3);
    await add([counted("limiter 502"), counted("limiter 0"), counted("")]);
    const { limiters, others } = await readAt(NOW);
    expect(limiters).toHaveLength(500);
    expect(limiters[0]).toMatchObject({ name: "limiter 0", total: { allowed: 4 } });
    expect(others?.total).toEqual({ allowed: 10, denied: 5, degraded: 5 });
    // After a day in which nobody asked them, they make room.
    const later = NOW + 90_001_000;
    expect(await add([counted("limiter 502", later)], {}, later)).toEqual([1, 1]);
  });

  test("stay while they are used, also if new ones come", async () => {
    await add([counted("old"), counted("gone")]);
    for (let hour = 1; hour <= 30; hour += 1) {
      const now = NOW + hour * 3_600_000;
      await add([counted("old", now)], {}, now);
    }
    const now = NOW + 30 * 3_600_000;
    await add([counted("new", now)], {}, now);
    expect((await readAt(now)).limiters.map(({ name }) => name)).toEqual(["new", "old"]);
  });

  test("can be read by the longest names", async () => {
    const names = Array.from({ length: 500 }, (_, i) => `${i}`.padEnd(512, "\u0001"));
    await add(names.map((name) => counted(name)));
    const { limiters, unreadable } = await readAt(NOW, { summaryOnly: true });
    expect(unreadable).toEqual([]);
    expect(limiters.map(({ name }) => name)).toEqual(names.sort());
  });

  test("can be read by any name", async () => {
    const names = [
      "GET /a/:id",
      "ümlaut\n0 {x}",
      "x".repeat(512),
      "__proto__",
      "a\0b",
      "half \ud83d",
    ];
    for (const name of names) {
      expect(await add([counted(name), counted("another")])).toEqual([1, 1, 1]);
      expect((await readAt(NOW, { limiter: name })).limiters).toMatchObject([
        { name: name.toWellFormed() },
      ]);
    }
    // Also when it has counted nothing lately.
    for (const name of names) {
      expect((await readAt(NOW + 7_200_000, { limiter: name })).limiters).toHaveLength(1);
    }
    expect((await readAt(NOW, { limiter: "none" })).limiters).toEqual([]);
    expect((await readAt(NOW)).limiters.map(({ name }) => name)).toEqual(
      [...names.map((name) => name.toWellFormed()), "another"].sort(),
    );
  });
});

describe("a stored list of subjects", () => {
  const withLists = (used: SubjectList, denied: SubjectList = []) =>
    counted("api", NOW, { subjects: { used, denied, denials: {} } });

  test("does not change while the other list grows", async () => {
    await add([withLists(ONE, ONE)]);
    await add([withLists(ONE)]);
    await add([counted("api", NOW)]);
    const { used, denied } = (await readAt(NOW)).limiters[0]?.subjects ?? {};
    expect(used).toMatchObject({ total: 6, top: [{ count: 6, error: 0 }] });
    expect(denied).toMatchObject({ total: 3, top: [{ count: 3, error: 0 }] });
  });

  test("can be added without counts", async () => {
    expect(await add([{ ...withLists(ONE), rows: [] }])).toEqual([1, 1]);
    const [api] = (await readAt(NOW)).limiters;
    expect(api?.total).toEqual({ allowed: 0, denied: 0, degraded: 0 });
    expect(api?.subjects.used.top).toMatchObject([{ count: 3 }]);
  });

  test("has at most 64 subjects: a newcomer takes the count of the least, which is its error", async () => {
    const many = Array.from({ length: 64 }, (_, i) => [`default ${i}`, 10 + i, 0]).flat();
    await add([withLists([0, 2_656, ...many])]);
    await add([withLists([0, 5, "default new", 5, 0])]);
    const key = limiterKey("hg", "api", "used", NOW * 1_000);
    // The newcomer is not among them yet: 5 are fewer than the 10 of the least.
    expect(await own.client.zcard(key)).toBe(64);
    expect(await own.client.zscore(key, "default new")).toBeNull();
    expect((await readAt(NOW)).limiters[0]?.subjects.used.maxUnlisted).toBeGreaterThanOrEqual(5);
    await add([withLists([0, 6, "default new", 6, 0])]);
    // It was counted up to five times before.
    expect(await own.client.zscore(key, "default new")).toBe("11");
    expect(await own.client.zscore(key, "default 0")).toBeNull();
    const bounds = await own.client.hgetall(limiterKey("hg", "api", "bounds", NOW * 1_000));
    expect(bounds).toMatchObject({ "used floor": "10", "used default new": "5" });
  });
});

describe("a foreign value", () => {
  test("is left alone in place of the index or of a process's number", async () => {
    for (const key of [INDEX, `${INDEX}:process/${nameOf(0)}`]) {
      await own.client.set(key, "text");
      expect(await add([counted("api")])).toEqual([USAGE_STATES.wrongType, 0]);
      expect(await own.scan()).toHaveLength(1);
      await own.client.flushall();
    }
    await own.client.set(INDEX, "text");
    expect((await readAt(NOW)).unreadable).toEqual([{ key: INDEX, reason: "wrong-type" }]);
  });

  test.each([
    "seconds",
    "minutes",
    "hours",
    "used",
    "denied",
    "bounds",
    "denials",
    "day-denials",
  ] as const)("under the key of %s affects only what is there", async (kind) => {
    const period = { seconds: 900, minutes: 3_600, hours: 86_400, "day-denials": 86_400 };
    const seconds = period[kind as keyof typeof period] ?? 600;
    const from = Math.floor(NOW / 1_000 / seconds) * seconds;
    const key = `${INDEX}:${kind}/api/${from}`;
    const subjects = { used: ONE, denied: ONE, denials: { "default a": 1 } };
    await own.client.set(key, "text");
    expect(await add([counted("api", NOW, { subjects }), counted("other")])).toEqual([1, -1, 1]);
    expect(await own.client.get(key)).toBe("text");
    const isLong = seconds === 86_400;
    const { limiters, unreadable } = await readAt(NOW, { span: isLong ? "30d" : "1h" });
    expect(limiters.map(({ name }) => name)).toEqual(["api", "other"]);
    expect(unreadable).toEqual([{ key, reason: "wrong-type" }]);
    expect(limiters[1]?.total).toEqual({ allowed: 2, denied: 1, degraded: 1 });
  });

  test("is reported if it has other fields or too many, and is not read", async () => {
    await add([counted("api")]);
    const key = `${INDEX}:minutes/api/1800000000`;
    for (const [field, text] of [
      ["1800000000", "1 2"],
      ["x", "1 2 3"],
      ["1800000000", "-1 2 3"],
    ] as const) {
      await own.client.del(key);
      await own.client.hset(key, field, text);
      expect((await readAt(NOW)).unreadable).toEqual([{ key, reason: "damaged" }]);
    }
    await own.client.hset(
      key,
      Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [i, 1])),
    );
    expect((await readAt(NOW)).unreadable).toEqual([{ key, reason: "too-long" }]);
  });
});

describe("readUsage", () => {
  test("takes a store or a client, with a prefix", async () => {
    const store = requireStore(
      redisStore(own.client, { prefix: "shop", usage: true, registry: false }),
    );
    const limits = gcra({ limit: 5, window: "1m" });
    const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "1m" });
    await limiter.consume("u");
    await limiter.close();
    const [api] = (await readUsage(own.client, { prefix: "shop" })).limiters;
    expect(api).toMatchObject({ name: "api", total: { allowed: 1 } });
    expect((await readUsage(store)).limiters).toEqual([api]);
    expect((await readUsage(own.client)).limiters).toEqual([]);
  });

  test("rejects other sources, a second prefix, and unknown options", async () => {
    const invalid = { code: "HEADGATE_INVALID_OPTION" };
    const store = requireStore(redisStore(own.client));
    await expect(readUsage(requireStore(memoryStore()))).rejects.toMatchObject(invalid);
    await expect(readUsage(store, { prefix: "hg" })).rejects.toMatchObject(invalid);
    await expect(readUsage(store, { span: "9s" })).rejects.toMatchObject(invalid);
    await expect(readUsage(store, { span: "31d" })).rejects.toMatchObject(invalid);
    await expect(readUsage(store, { summaryOnly: 1 } as never)).rejects.toMatchObject(invalid);
    await expect(readUsage(store, { limiter: "" })).rejects.toMatchObject(invalid);
    await expect(readUsage(store, { spna: "1h" } as never)).rejects.toMatchObject(invalid);
    await expect(readUsage({} as never)).rejects.toMatchObject({
      code: "HEADGATE_UNKNOWN_REDIS_CLIENT",
    });
    for (const usage of ["yes", {}.constructor, { subjects: "open" }, { subject: "plain" }]) {
      expect(() => requireStore(redisStore(own.client, { usage } as never))).toThrow("usage");
    }
    expect(() => requireStore(memoryStore({ usage: true } as never))).toThrow("usage");
  });

  test("rejects if the server does not answer within the timeout", async () => {
    own.server.freeze();
    onTestFinished(() => own.server.thaw());
    await expect(readUsage(own.client, { timeout: "50ms" })).rejects.toMatchObject({
      code: "HEADGATE_STORE_UNAVAILABLE",
    });
  });
});

/** As many bytes as a limiter's values can have: every process sends other subjects each time, as long as they are not hashed. */
function crowded(name: string, turn: number, now: number): LimiterCounts {
  const usage = new UsageCounter(name, "plain", () => 512);
  for (let i = 0; i < 64; i += 1) {
    const limit = { allowed: false, per: "default", name: `limit ${turn} ${i}` };
    const decision = { wouldAllow: false, degraded: false, limits: [limit] } as never;
    usage.record({ default: `${turn}:${i}`.padEnd(48, "x") }, decision);
  }
  usage.closeRow(now * 1_000);
  return usage.takeAll(1, 0);
}

async function bytesOf(pattern: string | RegExp): Promise<number> {
  const keys = (await own.scan()).map(String).filter((key) => key.search(pattern) >= 0);
  const sizes = await Promise.all(keys.map((key) => own.client.memory("USAGE", key)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

describe("memory of the Redis server", () => {
  const MB = 2 ** 20;

  /** Bytes of the subjects and denials of some limiters: for ten minutes, and for a day. */
  async function bytesFor(limiters: number): Promise<{ tenMinutes: number; day: number }> {
    const names = Array.from({ length: limiters }, (_, i) => `limiter ${i}`);
    for (let turn = 0; turn < 3; turn += 1) {
      for (let from = 0; from < limiters; from += 50) {
        const some = names.slice(from, from + 50);
        await add(
          some.map((name) => crowded(name, turn, NOW)),
          {},
          NOW,
        );
      }
    }
    return {
      tenMinutes: await bytesOf(/:(?:used|denied|bounds|denials)\//),
      day: await bytesOf(/:day-denials\//),
    };
  }

  test("for the steps of a limiter is less than 90 KB", async () => {
    // A step each minute for a day, and the last ones of ten seconds.
    const rows = Array.from({ length: 1_440 + 90 }, (_, i) => ({
      at: (NOW - (i < 90 ? 10_000 * i : 60_000 * (i - 90))) * 1_000,
      ...{ allowed: 1_000_000, denied: 100_000, degraded: 10_000 },
    }));
    await add([counted("api", NOW, { rows })]);
    const hours = await bytesOf(":hours/");
    // Hours are in 32 hashes, and the first of these two has the fewest.
    expect((await bytesOf("/api/")) + 32 * hours).toBeLessThan(90_000);
  });

  test("for one limiter is less than 3 MB for any subjects", async () => {
    const { tenMinutes, day } = await bytesFor(1);
    expect(145 * tenMinutes + 32 * day + 90_000).toBeLessThan(3 * MB);
  });

  test("for 500 limiters is less than 192 MB for any subjects", async () => {
    const { tenMinutes, day } = await bytesFor(500);
    expect(145 * tenMinutes + 32 * day + 500 * 90_000).toBeLessThan(192 * MB);
  });
});
