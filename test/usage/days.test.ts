import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { createAdmin, readUsage } from "@headgate/core/admin";
import type { CountingStore } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import type { LimiterCounts, SubjectCounts } from "../../packages/core/src/usage/operations.ts";
import { addUsage } from "../../packages/core/src/usage/operations.ts";
import { useOwnRedis } from "../support/own-redis.ts";

const own = useOwnRedis();

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** At eight o'clock. */
const NOW = 1_800_000_000_000;
const PART = { allowed: 2, denied: 1, degraded: 1 };

const storeAt = (now: number): CountingStore =>
  requireStore(redisStore(own.client, { clock: () => now }));

function counted(at: number, denials?: SubjectCounts["denials"], name = "api"): LimiterCounts {
  const rows = [{ at: at * 1_000, ...PART }];
  return denials === undefined
    ? { name, rows }
    : { name, rows, subjects: { used: [0, 1, "default ann", 1, 0], denied: [], denials } };
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
    blocks: [],
  };
  const [, ...states] = await storeAt(now).run(addUsage, { ...call, limiters });
  return states;
}

async function read(now: number, span: "1h" | "24h" | "30d" | "2d" = "30d") {
  const { limiters, others, unreadable } = await readUsage(storeAt(now), { span });
  expect(unreadable).toEqual([]);
  return { api: limiters[0], limiters, others };
}

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
      await add([counted(now)], now + 25_000);
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

  test("include late counts, also of the day before", async () => {
    const now = NOW + 17 * HOUR;
    await add([counted(NOW + HOUR), counted(now - 2 * HOUR)], now);
    expect((await read(now + 2 * DAY)).api?.hours).toEqual([hourOf(1), hourOf(15)]);
    await add([counted(NOW + HOUR)], now);
    expect((await read(now + 2 * DAY)).api?.hours).toEqual([hourOf(1, 2), hourOf(15)]);
  });

  test("remain when shorter steps are deleted", async () => {
    await add([counted(NOW), counted(NOW)], NOW);
    await own.client.del(...(await own.client.keys("*:minutes/*")));
    await add([counted(NOW)], NOW);
    expect((await read(NOW)).api?.hours).toEqual([hourOf(0, 3)]);
  });

  test("of all other limiters are kept together", async () => {
    const names = Array.from({ length: 502 }, (_, i) => `limiter ${i}`);
    const limiters = names.map((name) => counted(NOW, {}, name));
    const states = await add([...limiters, counted(NOW, undefined, "")], NOW);
    expect(states.filter((state) => state === 2)).toHaveLength(3);
    const { limiters: found, others } = await read(NOW + 2 * DAY);
    expect(found).toHaveLength(500);
    expect(others?.hours).toEqual([hourOf(0, 3)]);
  });
});

describe("denials by limit", () => {
  test("are readable for an hour, for a day, and for 30 days", async () => {
    await add([counted(NOW, { "default minute": 3, "user day": 5, block: 2 })], NOW);
    const later = NOW + 5 * HOUR;
    await add([counted(later, { "default minute": 4, more: 1 })], later);
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
    expect((await read(later, "24h")).api?.limits).toEqual({
      from: later - DAY + 600_000,
      ...all,
    });
    const first = Math.floor((later - 30 * DAY) / DAY) * DAY;
    expect((await read(later, "30d")).api?.limits).toEqual({ from: first, ...all });
    const week = later + 7 * DAY;
    expect((await read(week, "24h")).api).toBeUndefined();
    expect((await read(week, "30d")).api?.limits).toMatchObject(all);
  });

  test("cover 64 limits in a bounded number of bytes", async () => {
    for (let i = 0; i < 100; i += 1) {
      await add([counted(NOW, { [`default ${i}`]: 1, block: 1 })], NOW);
    }
    const { api } = await read(NOW, "1h");
    expect(api?.limits.byLimit.length).toBeLessThanOrEqual(64);
    expect(api?.limits).toMatchObject({
      byBlock: 100,
      more: 100 - (api?.limits.byLimit.length ?? 0),
    });
    const long = (i: number) => `${"d".repeat(64)} ${String(i).padStart(64, "x")}`;
    for (let i = 0; i < 100; i += 1) await add([counted(NOW, { [long(i)]: 1 })], NOW);
    // Blocks, 63 limits, and all others.
    expect(await own.client.hlen("hg:{usage}:denials/api/1800000000")).toBe(65);
    expect(await own.client.hlen("hg:{usage}:day-denials/api/1799971200")).toBe(65);
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
  await add([counted(NOW, { "default a": 1 })], NOW);
  const { limiters } = await readUsage(storeAt(NOW), { summaryOnly: true, span: "30d" });
  const steps = [{ from: NOW, ...PART }];
  expect(limiters).toEqual([
    { name: "api", total: PART, tenSeconds: steps, minutes: [], hours: steps },
  ]);
  const [api] = (await readUsage(storeAt(NOW), { summaryOnly: true, span: "24h" })).limiters;
  expect(api).toEqual({ name: "api", total: PART, tenSeconds: steps, minutes: steps, hours: [] });
});
