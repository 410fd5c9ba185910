import { describe, expect, test } from "vitest";
import { readPolicy } from "../algorithms/compile-policy.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { FixedWindowLimit } from "../common/policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";

const DAY = 86_400_000;
const monthly = { limit: 3, window: "month" } as const;

/** A limiter in memory on a clock that the test turns. */
function start(options: Omit<FixedWindowLimit, "algorithm">, begin: string) {
  let now = Date.parse(begin);
  const store = memoryStore({ clock: () => now });
  const limiter = createLimiter({ name: "quota", limits: fixedWindow(options), store });
  const turnTo = (moment: string) => {
    now = Date.parse(moment);
  };
  return { limiter, store, turnTo };
}

describe("a limiter with a calendar window", () => {
  test("describes the current calendar window in its decisions and in `limits`", async () => {
    const { limiter, turnTo } = start(monthly, "2028-01-15T00:00:00Z");
    const lengths: unknown[] = [];
    for (const moment of ["2028-01-31T23:59:59Z", "2028-02-01T00:00:00Z", "2028-04-30T00:00:00Z"]) {
      turnTo(moment);
      const { limits } = await limiter.consume("ada");
      lengths.push([limits[0]?.windowMs, limiter.limits[0]?.windowMs]);
    }
    expect(lengths).toEqual([31, 29, 30].map((days) => [days * DAY, days * DAY]));
    const described = { name: "3-per-month", per: "default", limit: 3, windowMs: 30 * DAY };
    expect(JSON.parse(JSON.stringify(limiter.limits))).toEqual([described]);
  });

  test("of two limits with equally much left, the one with the longer current window binds", async () => {
    const store = memoryStore({ clock: () => Date.parse("2027-02-15T00:00:00Z") });
    const limits = [
      fixedWindow({ ...monthly, name: "month" }),
      fixedWindow({ limit: 3, window: "30d", name: "thirty days" }),
    ];
    const decision = await createLimiter({ name: "quota", limits, store }).consume("ada");
    // February has 28.
    expect(decision.resetAfterMs).toBe(30 * DAY);
  });

  test("overdrawn usage ends with its calendar window, and a later settle charges the current one", async () => {
    const { limiter, turnTo } = start(monthly, "2027-01-15T00:00:00Z");
    const decision = await limiter.consume("ada");
    await limiter.charge("ada", { cost: 10 });
    expect((await limiter.peek("ada", { cost: 0 })).limits[0]).toMatchObject({ overdrawn: 8 });
    turnTo("2027-02-01T00:00:00Z");
    expect((await limiter.peek("ada", { cost: 0 })).remaining).toBe(3);
    expect(await limiter.settle(decision, 3)).toMatchObject({ charged: 3 });
    expect((await limiter.peek("ada", { cost: 0 })).remaining).toBe(1);
    expect(await limiter.reset("ada")).toBe(true);
    expect((await limiter.peek("ada", { cost: 0 })).remaining).toBe(3);
  });

  test("per-call limits share a counter only if the window and the time zone are equal", async () => {
    const { limiter } = start(monthly, "2027-01-15T00:00:00Z");
    await limiter.consume("ada", { cost: 3 });
    const more = fixedWindow({ limit: 10, window: "month", timeZone: "UTC" });
    expect((await limiter.consume("ada", { limits: more })).remaining).toBe(6);
    for (const other of [
      fixedWindow({ limit: 10, window: "year" }),
      fixedWindow({ limit: 10, window: "30d" }),
      fixedWindow({ limit: 10, window: "month", timeZone: "Asia/Tokyo" }),
    ]) {
      expect((await limiter.consume("ada", { limits: other })).remaining).toBe(9);
    }
  });

  test("a limiter without a time zone is the same as one in UTC, and differs from one in another zone", () => {
    const { store } = start(monthly, "2027-01-15T00:00:00Z");
    const make = (timeZone: string) =>
      createLimiter({ name: "quota", limits: fixedWindow({ ...monthly, timeZone }), store });
    make("UTC");
    expect(() => make("Asia/Tokyo")).toThrow(
      'fixedWindow({ limit: 3, window: "month" }) is not fixedWindow({ limit: 3, window: "month", timeZone: "Asia/Tokyo" })',
    );
  });

  test("waiting calls are admitted when the calendar window ends", async () => {
    const end = Date.parse("2027-02-01T00:00:00Z");
    const started = performance.now();
    const store = memoryStore({ clock: () => end - 50 + performance.now() - started });
    const limiter = createLimiter({ name: "quota", limits: fixedWindow(monthly), store });
    await limiter.consume("ada", { cost: 3 });
    const decision = await limiter.wait("ada", { timeout: "10s" });
    expect(decision).toMatchObject({ allowed: true, remaining: 2 });
    expect(performance.now() - started).toBeGreaterThanOrEqual(50);
  });

  test("a policy with calendar windows can be read from a file", () => {
    const policy = { algorithm: "fixedWindow", limit: 3, window: "week", timeZone: "Asia/Tokyo" };
    expect(readPolicy(policy)).toEqual(policy);
    expect(() => readPolicy([{ ...policy, timeZone: "Asia" }])).toThrow(/^limits\[0\]: .*"Asia"$/);
  });
});
