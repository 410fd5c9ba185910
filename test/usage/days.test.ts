import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { createAdmin, readUsage } from "@headgate/core/admin";
import type { CountingStore } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import type { LimiterCounts } from "../../packages/core/src/usage/operations.ts";
import { addUsage } from "../../packages/core/src/usage/operations.ts";
import { limiterId } from "../../packages/core/src/usage/usage-counter.ts";
import { useOwnRedis } from "../support/own-redis.ts";

const own = useOwnRedis();

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** At eight o'clock. */
const NOW = 1_800_000_000_000;
const PART = { allowed: 2, denied: 1, degraded: 1 };
const ID = limiterId("api");

const storeAt = (now: number): CountingStore =>
  requireStore(redisStore(own.client, { clock: () => now }));

/** What is sent of a limiter: with `limits`, hours are due. */
function counted(at: number, part: Partial<LimiterCounts> = {}): LimiterCounts {
  const rows = [{ at: at * 1_000, ...PART }];
  return { id: ID, name: "api", rows, used: "", denied: "", denialsByLimit: "", ...part };
}

let number = 0;

async function add(limiters: readonly LimiterCounts[], now: number): Promise<readonly number[]> {
  number += 1;
  const call = {
    prefix: "hg",
    process: "process-00000000",
    number,
    clock: now * 1_000,
    clockOffset: 0,
    blocks: "",
  };
  const [, ...states] = await storeAt(now).run(addUsage, { ...call, limiters });
  return states;
}

async function read(now: number, span: "1h" | "24h" | "30d" | "2d" = "30d") {
  const { limiters, others, unreadable } = await readUsage(storeAt(now), { span });
  expect(unreadable).toEqual([]);
  return { api: limiters[0], limiters, others };
}

const DUE = { denialsByLimit: "{}" };
const hourOf = (hour: number, times = 1) => ({
  from: NOW + hour * HOUR,
  allowed: 2 * times,
  denied: times,
  degraded: times,
});

describe("the hours of usage", () => {
  test("are kept for 30 days, and add up to the totals", async () => {
    for (const hour of [0, 1, 20, 26, 500, 719]) {
      const now = NOW + hour * HOUR + 1_000;
      await add([counted(now)], now);
      await add([counted(now, DUE)], now + 25_000);
    }
    const last = NOW + 719 * HOUR + 30_000;
    const { api } = await read(last);
    expect(api?.hours).toEqual([0, 1, 20, 26, 500, 719].map((hour) => hourOf(hour, 2)));
    expect(api?.total).toEqual({ allowed: 24, denied: 12, degraded: 12 });
    expect((await read(last, "2d")).api?.hours).toEqual([hourOf(719, 2)]);
    expect((await read(last, "24h")).api?.hours).toEqual([]);
    // The hour in which the span began is not whole.
    const { api: later } = await read(last + HOUR);
    expect(later?.hours.map(({ from }) => from)).not.toContain(NOW);
    expect(later?.hours).toHaveLength(5);
  });

  test("include counts of processes without day records, and of the last moments of the hour", async () => {
    await add([counted(NOW)], NOW);
    await add([counted(NOW + HOUR - 10_000)], NOW + HOUR - 5_000);
    await add([counted(NOW + HOUR + 10_000, DUE)], NOW + HOUR + 15_000);
    const week = NOW + 7 * DAY;
    expect((await read(week)).api?.hours).toEqual([hourOf(0, 2), hourOf(1)]);
  });

  test("are readable before the first hour record is written", async () => {
    await add([counted(NOW)], NOW);
    expect((await read(NOW)).api?.hours).toEqual([hourOf(0)]);
  });

  test("are completed by late calls, also for the day before", async () => {
    const now = NOW + 17 * HOUR;
    await add([counted(NOW + HOUR), counted(now - 2 * HOUR)], now);
    expect((await read(now + 2 * DAY)).api?.hours).toEqual([hourOf(1), hourOf(15)]);
    const keys = (await own.scan()).map(String).filter((key) => key.includes(":day/"));
    expect(keys).toEqual([`hg:{usage}:day/${ID}/20833`]);
  });

  test("remain when a series is deleted", async () => {
    await add([counted(NOW, DUE), counted(NOW, DUE)], NOW);
    await own.client.del(`hg:{usage}:series/${ID}`);
    await add([counted(NOW, DUE)], NOW);
    expect((await read(NOW)).api?.hours).toEqual([hourOf(0, 2)]);
  });

  test("of all other limiters are kept together", async () => {
    const names = Array.from({ length: 502 }, (_, i) => `limiter ${i}`);
    const limiters = names.map((name) => counted(NOW, { id: limiterId(name), name, ...DUE }));
    const states = await add([...limiters, counted(NOW, { id: "", name: "" })], NOW);
    expect(states.filter((state) => state === 2)).toHaveLength(3);
    const { limiters: found, others } = await read(NOW + 2 * DAY);
    expect(found).toHaveLength(500);
    expect(others?.hours).toEqual([hourOf(0, 3)]);
  });

  test("are in keys of one hash slot, which expire within 32 days", async () => {
    await add([counted(NOW, { denialsByLimit: '{"default a":1}' })], NOW);
    const keys = (await own.scan()).map(String).filter((key) => /day|limits/.test(key));
    expect(keys.sort()).toEqual([
      `hg:{usage}:day/${ID}/20833`,
      "hg:{usage}:days/20833",
      `hg:{usage}:limits/${ID}/3000000`,
    ]);
    for (const key of keys) {
      const rest = await own.client.pttl(key);
      expect(rest).toBeLessThanOrEqual((key.includes("limits") ? 25 * HOUR : 32 * DAY) + 1);
      expect(rest).toBeGreaterThan(key.includes("limits") ? 24 * HOUR : 31 * DAY);
    }
  });

  test("leave foreign values alone", async () => {
    const key = `hg:{usage}:day/${ID}/20833`;
    for (const text of ["text", "headgate usage 2\n", `headgate usage 1\n${"0".repeat(720)}\n[`]) {
      await own.client.set(key, text);
      expect(await add([counted(NOW, { denialsByLimit: '{"default a":1}' })], NOW)).toEqual([1, 4]);
      expect(await own.client.get(key)).toBe(text);
      const { unreadable } = await readUsage(storeAt(NOW), { span: "2d" });
      expect(unreadable).toMatchObject([{ key }]);
    }
    await own.client.del(key);
    await own.client.sadd(key, "x");
    expect(await add([counted(NOW, DUE)], NOW)).toEqual([1, 4]);
    await own.client.set("hg:{usage}:days/20833", "text");
    await own.client.del(key);
    expect(await add([counted(NOW, DUE)], NOW)).toEqual([1, 4]);
  });
});

describe("denials by limit", () => {
  const limits = (counts: Record<string, number>) => ({ denialsByLimit: JSON.stringify(counts) });

  test("are readable for an hour, for a day, and for 30 days", async () => {
    await add([counted(NOW, limits({ "default minute": 3, "user day": 5, block: 2 }))], NOW);
    const later = NOW + 5 * HOUR;
    await add([counted(later, limits({ "default minute": 4, more: 1 }))], later);
    const ofHour = { per: "default", limit: "minute", denied: 4 };
    const from = later - HOUR;
    expect((await read(later, "1h")).api?.limits).toEqual({
      from,
      byLimit: [ofHour],
      byBlock: 0,
      more: 1,
    });
    const all = {
      byLimit: [
        { per: "default", limit: "minute", denied: 7 },
        { per: "user", limit: "day", denied: 5 },
      ],
      byBlock: 2,
      more: 1,
    };
    expect((await read(later, "24h")).api?.limits).toEqual({ from: later - DAY, ...all });
    const first = Math.floor((later - 30 * DAY) / DAY) * DAY;
    expect((await read(later, "30d")).api?.limits).toEqual({ from: first, ...all });
    const week = later + 7 * DAY;
    expect((await read(week, "24h")).api?.limits).toMatchObject({ byLimit: [], byBlock: 0 });
    expect((await read(week, "30d")).api?.limits).toMatchObject(all);
  });

  test("cover 64 limits in a bounded number of bytes", async () => {
    for (let i = 0; i < 100; i += 1) {
      await add([counted(NOW, limits({ [`default ${i}`]: 1, block: 1 }))], NOW);
    }
    const { api } = await read(NOW, "1h");
    expect(api?.limits.byLimit.length).toBeLessThanOrEqual(64);
    expect(api?.limits).toMatchObject({
      byBlock: 100,
      more: 100 - (api?.limits.byLimit.length ?? 0),
    });
    const long = (i: number) => `${"d".repeat(64)} ${String(i).padStart(64, "x")}`;
    for (let i = 0; i < 100; i += 1) await add([counted(NOW, limits({ [long(i)]: 1 }))], NOW);
    expect(await own.client.strlen(`hg:{usage}:limits/${ID}/3000000`)).toBeLessThan(4_000);
    expect(await own.client.strlen(`hg:{usage}:day/${ID}/20833`)).toBeLessThan(5_000);
  });

  test("count for the limit with the longest wait, and for no limit if a block denied", async () => {
    const store = redisStore(own.client, { usage: true, clock: () => NOW });
    const limits = [
      gcra({ name: "minute", limit: 2, window: "1m" }),
      fixedWindow({ name: "day", limit: 4, window: "1d" }),
    ];
    const limiter = createLimiter({
      name: "api",
      limits,
      store,
      storeTimeout: "1m",
      denyCache: false,
    });
    for (let i = 0; i < 5; i += 1) await limiter.consume("ann");
    await limiter.consume("bob", { cost: 4 });
    for (let i = 0; i < 2; i += 1) await limiter.consume("bob", { cost: 5 });
    await createAdmin(store).block({ name: "api", limits }, "eve", "1h");
    await limiter.consume("eve");
    await limiter.close();
    const { limiters } = await readUsage(store);
    const denied = limiters[0]?.total.denied;
    const { byLimit, byBlock, more } = limiters[0]?.limits ?? {};
    const sum = byLimit?.reduce((all, one) => all + one.denied, 0) ?? 0;
    expect({ byBlock, more }).toEqual({ byBlock: 1, more: 0 });
    expect(sum + 1).toBe(denied);
    expect(byLimit?.map(({ limit }) => limit).sort()).toEqual(["day", "minute"]);
  });
});

test("a summary is read without subjects and limits", async () => {
  await add([counted(NOW, { ...DUE, used: '[0,1,"default#0123456789abcdef",1,0]' })], NOW);
  const { limiters } = await readUsage(storeAt(NOW), { summaryOnly: true, span: "30d" });
  expect(limiters).toEqual([
    {
      name: "api",
      total: PART,
      tenSeconds: [{ from: NOW, ...PART }],
      tenMinutes: [{ from: NOW, ...PART }],
      hours: [{ from: NOW, ...PART }],
    },
  ]);
});

test("500 limiters with the largest number of limits take less than 64 MB for hours and limits", async () => {
  const bytes: Record<string, number> = { day: 0, days: 0, limits: 0 };
  for (let turn = 0; turn < 3; turn += 1) {
    for (let from = 0; from < 500; from += 50) {
      const some = Array.from({ length: 50 }, (_, i): LimiterCounts => {
        const name = `limiter ${from + i}`;
        const counts = Array.from({ length: 20 }, (_, j) => [`default limit ${turn} ${j}`, 9]);
        const denialsByLimit = JSON.stringify(Object.fromEntries(counts));
        return counted(NOW, { id: limiterId(name), name, denialsByLimit });
      });
      await add(some, NOW);
    }
  }
  // Those who come first have room for more limits, until the next ten minutes.
  for (const key of (await own.scan()).map(String)) {
    const kind = /:(day|days|limits)\//.exec(key)?.[1];
    const size = (await own.client.memory("USAGE", key)) ?? 0;
    if (kind !== undefined) bytes[kind] = (bytes[kind] ?? 0) + size;
  }
  const { day = 0, days = 0, limits = 0 } = bytes;
  const megabytes = (32 * (day + days) + 145 * limits) / 2 ** 20;
  console.log(`${megabytes.toFixed(1)} MB: ${day / 500} bytes a day, ${limits / 500} of limits`);
  expect(megabytes).toBeLessThan(64);
});
