import type { CalendarWindow, Limit, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Temporal } from "temporal-polyfill";
import { afterEach, describe, expect, test, vi } from "vitest";
import { compilePolicy } from "../../packages/core/src/algorithms/compile-policy.ts";
import { charge } from "../../packages/core/src/operations/charge.ts";
import { prepareLimits } from "../../packages/core/src/operations/counter.ts";
import { decide, peek } from "../../packages/core/src/operations/decide.ts";
import { refund } from "../../packages/core/src/operations/refund.ts";
import { composeScript } from "../../packages/core/src/scripts/compose-script.ts";
import type { Operation } from "../../packages/core/src/store/store.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { STORE_ALONE } from "./store-alone.ts";

const DAY_MS = 86_400_000;
const ZONE = "America/St_Johns";
const WINDOWS: readonly CalendarWindow[] = ["day", "week", "month", "year"];

const own = useOwnRedis();
const started: Limiter[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const limiter of started.splice(0)) await limiter.close();
});

function start(limits: Limit | Limit[]): Limiter {
  const limiter: Limiter = createLimiter({
    ...STORE_ALONE,
    name: "test",
    limits,
    store: redisStore(own.client),
  });
  started.push(limiter);
  return limiter;
}

/** Puts this process's clock away from the server's. */
function setProcessClock(ahead: number): void {
  const { now } = performance;
  vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + ahead);
}

/** Milliseconds to the end of the server's present window. */
async function untilNext(window: CalendarWindow): Promise<number> {
  const [seconds, micros] = await own.client.time();
  const now = Number(seconds) * 1_000 + Number(micros) / 1_000;
  const day = Temporal.Instant.fromEpochMilliseconds(Math.floor(now))
    .toZonedDateTimeISO(ZONE)
    .toPlainDate();
  const first = {
    day,
    week: day.subtract({ days: day.dayOfWeek - 1 }),
    month: day.with({ day: 1 }),
    year: day.with({ month: 1, day: 1 }),
  }[window];
  const next = first.add({ [`${window}s`]: 1 }).toZonedDateTime(ZONE);
  return next.epochMilliseconds - now;
}

function spyOnScripts() {
  return vi.spyOn(own.client as unknown as { evalshaBuffer: () => unknown }, "evalshaBuffer");
}

describe.each(WINDOWS)("a window of a %s on the server's own clock", (window) => {
  const limits = fixedWindow({ limit: 3, window, timeZone: ZONE });

  test.each([
    ["the same as", 0],
    ["hours behind", -5 * 3_600_000],
    ["hours ahead of", 5 * 3_600_000],
    ["years behind", -3 * 366 * DAY_MS],
    ["years ahead of", 3 * 366 * DAY_MS],
  ])(
    "a calendar window ends by the server's clock if the process's clock is %s the server's",
    async (_, ahead) => {
      setProcessClock(ahead);
      const limiter = start(limits);
      const first = await limiter.consume("u", { cost: 3 });
      expect(first).toMatchObject({ allowed: true, remaining: 0, source: "store" });
      const left = await untilNext(window);
      const late = 30_000;
      expect(Math.abs(first.resetAfterMs - left)).toBeLessThan(late);
      const denied = await limiter.consume("u");
      expect(denied).toMatchObject({ allowed: false, remaining: 0, source: "store" });
      expect(Math.abs(denied.retryAfterMs - left)).toBeLessThan(late);
      expect(await limiter.peek("u", { cost: 0 })).toMatchObject({ allowed: true, remaining: 0 });
      expect(await limiter.charge("u", { cost: 2 })).toEqual({
        charged: 2,
        overflow: 0,
        degraded: false,
      });
      expect(await limiter.refund(first)).toBe(true);
      expect((await limiter.peek("u", { cost: 0 })).remaining).toBe(1);
    },
  );

  test("the key of a calendar window expires soon after the window", async () => {
    await start(limits).consume("u");
    const [key = ""] = await own.client.keys("*");
    const left = await untilNext(window);
    const ttl = await own.client.pttl(key);
    expect(ttl).toBeGreaterThanOrEqual(Math.floor(left));
    expect(ttl).toBeLessThanOrEqual(Math.min(2 * left + 30_000, 408 * DAY_MS));
  });
});

describe("a process whose clock is days away from the server's", () => {
  const limits = fixedWindow({ limit: 100, window: "day", timeZone: ZONE });

  test("a process with a wrong clock sends one more call, and then knows the offset", async () => {
    setProcessClock(-10 * DAY_MS);
    const limiter = start(limits);
    await limiter.consume("u");
    const scriptCalls = spyOnScripts();
    expect((await limiter.consume("u")).remaining).toBe(98);
    expect(scriptCalls).toHaveBeenCalledTimes(1);
    // The process's clock was put right.
    vi.restoreAllMocks();
    const again = spyOnScripts();
    expect((await limiter.consume("u")).remaining).toBe(97);
    // The control record, which seems to have been read days ago, is read as well.
    expect(again).toHaveBeenCalledTimes(3);
  });

  test("a process with a wrong clock charges each decision of a batch once", async () => {
    setProcessClock(10 * DAY_MS);
    const limiter = start(limits);
    const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.consume("u")));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100);
    expect(decisions.every(({ source }) => source === "store")).toBe(true);
    expect((await limiter.peek("u", { cost: 0 })).remaining).toBe(0);
  });

  test("a process with a wrong clock refunds its charges", async () => {
    const limiter = start(limits);
    const decision = await limiter.consume("u", { cost: 40 });
    setProcessClock(10 * DAY_MS);
    expect(await limiter.refund(decision)).toBe(true);
    expect((await limiter.peek("u", { cost: 0 })).remaining).toBe(100);
  });

  test("a process with a wrong clock does not affect one with a correct clock", async () => {
    const limiter = start(limits);
    await limiter.consume("u");
    const scriptCalls = spyOnScripts();
    for (let i = 0; i < 5; i += 1) await limiter.consume("u");
    expect(scriptCalls).toHaveBeenCalledTimes(5);
  });
});

describe("a script that was sent with the boundaries of another time", () => {
  const dated = prepareLimits(compilePolicy(fixedWindow({ limit: 5, window: "day" })));
  const counter = { ...dated, key: "hg:{u}:test" };
  const counters = [counter];
  const calls: Record<string, readonly [Operation<never, unknown>, readonly object[]]> = {
    "of a decision": [decide, [{ cost: 1, mode: "charge", counters }]],
    "of a batch": [decide, [1, 2, 1].map((cost) => ({ cost, mode: "charge", counters }))],
    "of a look": [peek, [{ cost: 1, mode: "peek", counters }]],
    "of a charge": [charge, [{ cost: 1, counters }]],
    "of a refund": [refund, [{ cost: 1, charged: 0, counters, generations: [0] }]],
  };
  const run = async (
    [operation, some]: (typeof calls)[string],
    around: number,
  ): Promise<unknown> => {
    const scriptCalls = some as readonly never[];
    const times = operation.boundaries?.(scriptCalls[0] as never, "", () => around);
    const { script, args } = operation.encode(scriptCalls, composeScript, "", times);
    const keys = scriptCalls.flatMap(() => counter.key);
    return own.client.callBuffer("EVAL", script.source, keys.length, ...keys, ...args);
  };

  test.each(Object.entries(calls))(
    "%s with window boundaries of another time does nothing, and returns the server's clock",
    async (_, call) => {
      await run(calls["of a decision"] as never, Date.now() * 1_000);
      const before = await own.client.dumpBuffer(counter.key);
      for (const days of [-3, 3]) {
        const clock = Number(await run(call, (Date.now() + days * DAY_MS) * 1_000));
        expect(Math.abs(clock / 1_000 - Date.now())).toBeLessThan(30_000);
      }
      expect(await own.client.dumpBuffer(counter.key)).toEqual(before);
      // Yesterday's and tomorrow's window are brought as well.
      for (const days of [-1, 0, 1]) {
        expect(typeof (await run(call, (Date.now() + days * DAY_MS) * 1_000))).toBe("object");
      }
    },
  );
});

test("calendar windows and other limits are decided together, all or nothing", async () => {
  setProcessClock(-10 * DAY_MS);
  const limiter = start([
    gcra({ limit: 10, window: "1h" }),
    fixedWindow({ limit: 4, window: "month", timeZone: ZONE }),
    fixedWindow({ limit: 3, window: "day", per: "tenant" }),
    slidingLog({ limit: 10, window: "1h", per: "tenant" }),
  ]);
  const subject = { default: "{a}u", tenant: "{a}t" };
  expect((await limiter.consume(subject, { cost: 3 })).allowed).toBe(true);
  const denied = await limiter.consume(subject);
  expect(denied.limits.map(({ allowed }) => allowed)).toEqual([true, true, false, true]);
  expect(denied.limits.map(({ remaining }) => remaining)).toEqual([7, 1, 0, 7]);
  const [, month] = denied.limits;
  expect(month).toMatchObject({ name: "4-per-month", windowMs: expect.any(Number) });
  const other = await limiter.consume({ ...subject, tenant: "{a}other" });
  expect(other.limits.map(({ remaining }) => remaining)).toEqual([6, 0, 2, 9]);
});

test("a denial is cached until the end of the calendar window, and not beyond", async () => {
  const end = Date.UTC(2027, 1, 1);
  let now = end - 500;
  const limits = fixedWindow({ limit: 2, window: "month" });
  const store = redisStore(own.client, { clock: () => now });
  const limiter = createLimiter({ name: "remembered", limits, store, storeTimeout: "1m" });
  await limiter.consume("u", { cost: 2 });
  const denied = { allowed: false, retryAfterMs: 500, limits: [{ windowMs: 31 * DAY_MS }] };
  expect(await limiter.consume("u")).toMatchObject({ ...denied, source: "store" });
  expect(await limiter.consume("u")).toMatchObject({ ...denied, source: "deny-cache" });
  now = end - 1;
  expect(await limiter.consume("u")).toMatchObject({ allowed: false, retryAfterMs: 1 });
  now = end;
  const february = { allowed: true, remaining: 1, limits: [{ windowMs: 28 * DAY_MS }] };
  expect(await limiter.consume("u")).toMatchObject({ ...february, source: "store" });
  await limiter.close();
});

test("a lease ends with the calendar window, and its units are not spent in the next one", async () => {
  const end = Date.UTC(2027, 1, 1);
  let now = end - 10_000;
  const limits = fixedWindow({ limit: 1_000, window: "month" });
  const store = redisStore(own.client, { clock: () => now });
  const lease = { max: 100, ttl: "1m" } as const;
  const limiter = createLimiter({ name: "leased", limits, store, lease, storeTimeout: "1m" });
  const request = async (times: number) => {
    const sources = new Set<string>();
    for (let i = 0; i < times; i += 1) {
      sources.add((await limiter.consume("u")).source);
      await new Promise(setImmediate);
    }
    return sources;
  };
  expect(await request(50)).toContain("lease");
  now = end - 1;
  expect((await limiter.consume("u")).source).toBe("store");
  now = end;
  expect((await limiter.peek("u", { cost: 0 })).remaining).toBe(1_000);
  expect(await request(50)).toContain("lease");
  // What is held at the end depends on how fast the calls were; closing gives it back.
  await limiter.close();
  const other = createLimiter({ name: "leased", limits, store, storeTimeout: "1m" });
  expect((await other.peek("u", { cost: 0 })).remaining).toBe(950);
  await other.close();
});

test("counters are separate for each window and time zone, and continue under another number", async () => {
  const counted = async (options: Omit<Limit & { algorithm: "fixedWindow" }, "algorithm">) => {
    const limiter = start(fixedWindow(options));
    const { remaining } = await limiter.consume("u");
    await limiter.close();
    return remaining;
  };
  expect(await counted({ limit: 10, window: "month" })).toBe(9);
  expect(await counted({ limit: 10, window: "month", timeZone: "UTC" })).toBe(8);
  expect(await counted({ limit: 20, window: "month" })).toBe(17);
  expect(await counted({ limit: 20, window: "month", timeZone: ZONE })).toBe(19);
  expect(await counted({ limit: 20, window: "year" })).toBe(19);
});
