import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { readUsage } from "@headgate/core/admin";
import type { CountingStore } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import type { LimiterCounts, UsageCall } from "../../packages/core/src/usage/operations.ts";
import { addUsage, USAGE_STATES } from "../../packages/core/src/usage/operations.ts";
import { limiterId, UsageCounter } from "../../packages/core/src/usage/usage-counter.ts";
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
  return {
    id: limiterId(name),
    name,
    rows: [row],
    used: "",
    denied: "",
    denialsByLimit: "",
    ...part,
  };
}

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
    blocks: "",
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

  test("has keys in one hash slot, which all expire within 25 hours or 32 days", async () => {
    const list = '[0,1,"default#0123456789abcdef",1,0]';
    await add([counted("api", NOW, { used: list }), counted("", NOW, { id: "" })]);
    const keys = (await own.scan()).map(String).sort();
    const id = limiterId("api");
    expect(keys).toEqual([
      INDEX,
      `${INDEX}:day/other/20833`,
      `${INDEX}:process/${nameOf(0)}`,
      `${INDEX}:series/${id}`,
      `${INDEX}:series/other`,
      `${INDEX}:top/${id}/3000000`,
    ]);
    for (const key of keys) {
      const rest = await own.client.pttl(key);
      expect(rest).toBeGreaterThan(3_000_000);
      expect(rest).toBeLessThanOrEqual(key.includes(":day/") ? 2_764_800_001 : 90_000_001);
    }
  });
});

describe("the counts over time", () => {
  test("have steps of ten seconds for an hour, and of ten minutes for a day", async () => {
    const times = [0, 9_999, 10_000, 599_999, 600_000, 3_600_000 - 1];
    for (const ms of times) await add([counted("api", NOW + ms)], {}, NOW + ms);
    const last = NOW + 3_600_000 - 1;
    const [api] = (await readAt(last)).limiters;
    const part = { allowed: 2, denied: 1, degraded: 1 };
    const twice = { allowed: 4, denied: 2, degraded: 2 };
    expect(api?.tenSeconds).toEqual([
      { from: NOW, ...twice },
      { from: NOW + 10_000, ...part },
      { from: NOW + 590_000, ...part },
      { from: NOW + 600_000, ...part },
      { from: NOW + 3_590_000, ...part },
    ]);
    expect(api?.tenMinutes).toEqual([
      { from: NOW, allowed: 8, denied: 4, degraded: 4 },
      { from: NOW + 600_000, ...part },
      { from: NOW + 3_000_000, ...part },
    ]);
    expect(api?.total).toEqual({ allowed: 12, denied: 6, degraded: 6 });
    // A total is of whole spans.
    const total = async (span: "10s" | "24h") => (await readAt(last, { span })).limiters[0]?.total;
    expect(await total("10s")).toEqual(part);
    expect(await total("24h")).toEqual({ allowed: 12, denied: 6, degraded: 6 });
  });

  test("are not read if older, and late ones replace no newer ones", async () => {
    await add([counted("api")]);
    const later = NOW + 3_600_000;
    await add([counted("api", later), counted("api", later - 10_000)], {}, later);
    expect((await readAt(later)).limiters[0]?.tenSeconds).toHaveLength(2);
    // Ten seconds of an hour ago have the same place.
    await add([counted("api", NOW)], {}, later);
    const [api] = (await readAt(later)).limiters;
    expect(api?.total).toEqual({ allowed: 4, denied: 2, degraded: 2 });
    expect(api?.tenMinutes[0]).toEqual({ from: NOW, allowed: 4, denied: 2, degraded: 2 });
    const day = NOW + 86_400_000;
    expect((await readAt(day)).limiters[0]?.tenMinutes).toHaveLength(2);
  });

  test("stop at the largest number with 10 digits", async () => {
    const row = { at: NOW * 1_000, allowed: 9_999_999_998, denied: 0, degraded: 0 };
    for (let i = 0; i < 2; i += 1) await add([counted("api", NOW, { rows: [row] })]);
    expect((await readAt(NOW)).limiters[0]?.total.allowed).toBe(9_999_999_999);
  });
});

describe("the limiters of usage", () => {
  test("number at most 500, and the others are counted together", async () => {
    const names = Array.from({ length: 503 }, (_, i) => `limiter ${i}`);
    const states = await add(names.map((name) => counted(name)));
    expect(states.filter((state) => state === 2)).toHaveLength(3);
    await add([counted("limiter 502"), counted("limiter 0"), counted("", NOW, { id: "" })]);
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
    expect((await own.client.get(INDEX))?.split("\n").slice(1)).toEqual([
      expect.stringContaining(limiterId("old")),
      expect.stringContaining(limiterId("new")),
    ]);
  });

  test("can be read by any name", async () => {
    for (const name of ["GET /a/:id", "ümlaut\n0 {x}", "x".repeat(512)]) {
      await add([counted(name)]);
      expect((await readAt(NOW, { limiter: name })).limiters).toMatchObject([{ name }]);
    }
    expect((await readAt(NOW, { limiter: "none" })).limiters).toEqual([]);
    expect((await readAt(NOW)).limiters).toHaveLength(3);
  });
});

describe("a stored list of subjects", () => {
  const listOf = (hash: string, times: number) => `[0,${times},"default#${hash}",${times},0]`;
  const one = listOf("0123456789abcdef", 3);

  test("does not change while the other list grows", async () => {
    await add([counted("api", NOW, { used: one, denied: one })]);
    await add([counted("api", NOW, { used: one })]);
    await add([counted("api", NOW)]);
    const { used, denied } = (await readAt(NOW)).limiters[0]?.subjects ?? {};
    expect(used).toMatchObject({ total: 6, top: [{ count: 6, error: 0 }] });
    expect(denied).toMatchObject({ total: 3, top: [{ count: 3, error: 0 }] });
  });

  test("can be added without counts", async () => {
    expect(await add([counted("api", NOW, { rows: [], used: one })])).toEqual([1, 1]);
    const [api] = (await readAt(NOW)).limiters;
    expect(api?.total).toEqual({ allowed: 0, denied: 0, degraded: 0 });
    expect(api?.subjects.used.top).toMatchObject([{ count: 3 }]);
  });
});

describe("a foreign value", () => {
  const used = '[0,1,"default#0123456789abcdef",1,0]';

  test.each([
    ["headgate usage 2\nwhatever", USAGE_STATES.otherFormat, "other-format"],
    ["headgate usage 10\nwhatever", USAGE_STATES.otherFormat, "other-format"],
    ["text of somebody else", USAGE_STATES.otherFormat, "damaged"],
  ])("is left alone in place of the index: %s", async (text, state, reason) => {
    await own.client.set(INDEX, text);
    expect(await add([counted("api")])).toEqual([state, 0]);
    expect(await own.scan()).toHaveLength(1);
    expect((await readAt(NOW)).unreadable).toEqual([{ key: INDEX, reason }]);
  });

  test("is left alone if it is not a string", async () => {
    await own.client.sadd(INDEX, "x");
    expect(await add([counted("api")])).toEqual([-1, 0]);
    expect((await readAt(NOW)).unreadable).toEqual([{ key: INDEX, reason: "wrong-type" }]);
    await own.client.del(INDEX);
    await own.client.sadd(`${INDEX}:process/${nameOf(0)}`, "x");
    expect(await add([counted("api")])).toEqual([-1, 0]);
    await own.client.set(`${INDEX}:process/${nameOf(1)}`, "headgate usage 2 1");
    expect(await add([counted("api")], { process: nameOf(1) })).toEqual([3, 0]);
  });

  test("under the key of one limiter affects only that limiter", async () => {
    const id = limiterId("api");
    const [series, tops] = [`${INDEX}:series/${id}`, `${INDEX}:top/${id}/3000000`];
    await own.client.sadd(series, "x");
    expect(await add([counted("api"), counted("other")])).toEqual([1, -1, 1]);
    await own.client.del(series);
    await own.client.set(series, "text");
    expect(await add([counted("api"), counted("other")])).toEqual([1, 3, 1]);
    await own.client.del(series);
    await own.client.sadd(tops, "x");
    // The numbers are counted, the subjects not.
    const withoutSubjects = [USAGE_STATES.done, USAGE_STATES.tooLong];
    expect(await add([counted("api", NOW, { used })])).toEqual(withoutSubjects);
    const { limiters, unreadable } = await readAt(NOW);
    expect(limiters.map(({ name }) => name)).toEqual(["api", "other"]);
    expect(unreadable).toEqual([{ key: tops, reason: "wrong-type" }]);
    await own.client.del(tops);
    await own.client.set(tops, "headgate usage 1\n[0");
    expect(await add([counted("api", NOW, { used })])).toEqual(withoutSubjects);
    expect((await readAt(NOW)).unreadable).toEqual([{ key: tops, reason: "damaged" }]);
    await own.client.set(series, `headgate usage 1\n${"x".repeat(30_000)}`);
    expect((await readAt(NOW)).unreadable[0]).toEqual({ key: series, reason: "damaged" });
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

/** As many bytes as a limiter's lists can have: every process sends other subjects each time. */
function crowded(name: string, turn: number, now: number): LimiterCounts {
  const usage = new UsageCounter(name, "plain", () => 512);
  const decision = {
    wouldAllow: false,
    degraded: false,
    limits: [{ allowed: false, per: "default" }],
  } as never;
  for (let i = 0; i < 64; i += 1) {
    usage.record(
      { default: `2001:db8:${turn}:${i}:ffff:ffff:ffff:ffff ${"x".repeat(20)}` },
      decision,
    );
  }
  usage.closeRow(now * 1_000);
  return usage.takeAll(1, 0);
}

async function bytesOf(pattern: string): Promise<number> {
  const keys = (await own.scan()).map(String).filter((key) => key.includes(pattern));
  const sizes = await Promise.all(keys.map((key) => own.client.memory("USAGE", key)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

describe("memory of the Redis server", () => {
  const MB = 2 ** 20;

  test("for one limiter is less than 1 MB for any subjects", async () => {
    const spans = 145;
    let largest = 0;
    for (let i = 0; i < spans; i += 1) {
      const now = NOW + i * 600_000;
      for (let turn = 0; turn < 3; turn += 1) await add([crowded("api", turn, now)], {}, now);
      const tops = `${INDEX}:top/${limiterId("api")}/${3_000_000 + i}`;
      largest = Math.max(largest, (await own.client.memory("USAGE", tops)) ?? 0);
      // As it would have expired by then.
    }
    expect(largest).toBeLessThan(6_700);
    expect(await bytesOf("{usage}")).toBeLessThan(MB);
  });

  test("for 500 limiters is less than 64 MB for any subjects", async () => {
    const names = Array.from({ length: 500 }, (_, i) => `limiter ${i}`);
    const fill = async (now: number): Promise<void> => {
      for (let i = 0; i < 3; i += 1) {
        for (let from = 0; from < 500; from += 50) {
          const some = names.slice(from, from + 50);
          await add(
            some.map((name) => crowded(name, i, now)),
            {},
            now,
          );
        }
      }
    };
    // Those who come first have room for longer lists, until the next ten minutes.
    await fill(NOW);
    const first = await bytesOf("{usage}:top");
    const later = NOW + 600_000;
    await fill(later);
    const each = (await bytesOf("{usage}:top")) - first;
    const rest = (await bytesOf("{usage}")) - first - each;
    console.log(
      `${(rest / MB).toFixed(1)} MB of numbers, ${(each / MB).toFixed(2)} MB of subjects each ten minutes, ${(first / MB).toFixed(2)} MB in the first`,
    );
    expect(rest + first + 144 * each).toBeLessThan(64 * MB);
  });
});
