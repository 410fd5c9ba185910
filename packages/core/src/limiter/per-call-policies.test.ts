import { describe, expect, test } from "vitest";
import { flushMicrotasks, holdStore, resultOf } from "../../../../test/support/held-store.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import type { Decision } from "../common/decision.ts";
import type { Policy } from "../common/policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { LimiterOptions } from "./limiter.ts";
import { MAX_SHAPES } from "./per-call-policies.ts";

const START = 1_800_000_000_000;

const hourly = (limit: number) => fixedWindow({ limit, window: "1h" });
const daily = (limit: number) => fixedWindow({ limit, window: "1d" });
const of = (limits: Policy<never>, cost = 1) => ({ limits, cost });

function start(more: Partial<LimiterOptions<never>> = {}) {
  const clock = { now: START };
  const store = memoryStore({ clock: () => clock.now });
  return { clock, limiter: createLimiter({ name: "plans", limits: hourly(3), store, ...more }) };
}

/** A limiter on a server whose calls run when the test says so. Each dimension has a hash slot of its own. */
function startRemote(limits: Policy = hourly(3), more: Partial<LimiterOptions> = {}) {
  const { store, held, advance } = holdStore((key) => (key.includes(":tenant:") ? 1 : 2));
  const limiter = createLimiter({ name: "plans", limits, store, storeTimeout: "1m", ...more });
  return {
    limiter,
    held,
    advance,
    answered: <T>(pending: Promise<T>) => resultOf(held, pending),
  };
}

const numbersOf = ({ limits }: Decision) =>
  limits.map(({ name, limit, remaining }) => [name, limit, remaining]);

describe("per-call limits of another shape", () => {
  test("limits of another shape have a counter and names of their own, and continue when used again", async () => {
    const { limiter } = start();
    await limiter.consume("u", { cost: 3 });
    expect(await limiter.consume("u")).toMatchObject({ allowed: false });
    expect(numbersOf(await limiter.consume("u", of(daily(9), 4)))).toEqual([["9-per-1d", 9, 5]]);
    // Other numbers of the same shape are the same counter.
    expect(numbersOf(await limiter.peek("u", of(daily(50), 0)))).toEqual([["50-per-1d", 50, 46]]);
    const both = [hourly(8), daily(20)];
    expect(numbersOf(await limiter.consume("u", of(both)))).toEqual([
      ["8-per-1h", 8, 7],
      ["20-per-1d", 20, 19],
    ]);
    expect(await limiter.consume("u", of(hourly(5)))).toMatchObject({ remaining: 1 });
    expect(await limiter.peek("v", of(daily(9), 0))).toMatchObject({ remaining: 9 });
  });

  test("limits of another shape may use any algorithm", async () => {
    const { limiter } = start();
    for (const limits of [
      gcra({ limit: 7, window: "1h" }),
      tokenBucket({ capacity: 7, refill: 7, every: "1h" }),
      slidingLog({ limit: 7, window: "1h" }),
      fixedWindow({ limit: 7, window: "month" }),
    ]) {
      expect(await limiter.consume("u", of(limits))).toMatchObject({ limit: 7, remaining: 6 });
    }
    expect(await limiter.peek("u", { cost: 0 })).toMatchObject({ remaining: 3 });
  });

  test("the limiter settles, refunds and charges limits of another shape, also by their names", async () => {
    const { limiter } = start();
    const limits = [daily(100), { ...daily(1_000), window: "7d", name: "tokens" } as const];
    const decision = await limiter.consume("u", { limits, cost: { tokens: 50 } });
    expect(numbersOf(decision)).toEqual([
      ["100-per-1d", 100, 99],
      ["tokens", 1_000, 950],
    ]);
    expect(await limiter.settle(decision, { tokens: 20 })).toMatchObject({
      charged: { tokens: 20 },
    });
    expect(await limiter.charge("u", { limits, cost: { tokens: 5 } })).toMatchObject({
      charged: { "100-per-1d": 1, tokens: 5 },
    });
    const more = await limiter.consume("u", { limits, cost: { tokens: 1 } });
    expect(numbersOf(more)[1]).toEqual(["tokens", 1_000, 974]);
    expect(await limiter.refund(more)).toBe(true);
    await expect(limiter.consume("u", { cost: { tokens: 1 } })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_COST",
    });
  });

  test("a cost that names a limit which the limits of the call lack is an error, also if the limiter's own have it", async () => {
    const { limiter } = start();
    const limits = [daily(100), { ...daily(1_000), window: "7d", name: "tokens" } as const];
    for (const name of ["token", "3-per-1h"]) {
      const options = { limits, cost: { [name]: 1, tokens: 1 } };
      for (const call of [
        limiter.consume("u", options),
        limiter.peek("u", options),
        limiter.charge("u", options),
        limiter.wait("u", options),
        limiter.run("u", () => {}, { ...options, timeout: 0 }),
      ]) {
        await expect(call).rejects.toMatchObject({
          code: "HEADGATE_INVALID_COST",
          message: `cost names "${name}", but no limit has that name; the limits are "100-per-1d", "tokens"`,
        });
      }
    }
    expect((await limiter.peek("u", { limits, cost: 0 })).limits[1]).toMatchObject({
      remaining: 1_000,
    });
  });

  test("limits of another shape may count concurrency slots", async () => {
    const { limiter } = start();
    const slots = concurrency({ limit: 1, ttl: "1m" });
    const inside = await limiter.run(
      "u",
      async () => {
        await expect(
          limiter.run("u", () => 0, { limits: slots, timeout: 0 }),
        ).rejects.toMatchObject({ code: "HEADGATE_DENIED" });
        const waiting = limiter.wait("u", { limits: slots });
        return { waiting };
      },
      { limits: slots },
    );
    const waited = await inside.waiting;
    expect(waited).toMatchObject({ allowed: true, limit: 1, remaining: 0 });
    expect(await limiter.release(waited)).toBe(true);
    expect(await limiter.peek("u", of(slots, 0))).toMatchObject({ remaining: 1 });
  });

  test("limits of another shape may block, and the block's duration is not part of the shape", async () => {
    const { limiter, clock } = start();
    const guarded = (block: "1m" | "1h") => ({ ...daily(1), block }) as const;
    await limiter.consume("u", of(guarded("1m")));
    const denied = await limiter.consume("u", of(guarded("1h")));
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
    expect(await limiter.reset("u")).toBe(true);
    await limiter.consume("u", of(guarded("1m")));
    await limiter.consume("u", of(guarded("1h")));
    clock.now += 120_000;
    expect(await limiter.peek("u", of(guarded("1m"), 0))).toMatchObject({ blocked: true });
    expect(await limiter.peek("u")).toMatchObject({ allowed: true });
  });

  test("an evicted shape continues with its count when used again", async () => {
    const { limiter } = start();
    const every = (seconds: number) => fixedWindow({ limit: 5, window: `${1_000 + seconds}s` });
    const first = await limiter.consume("u", of(every(0), 2));
    for (let i = 1; i <= MAX_SHAPES + 1; i += 1) await limiter.consume("u", of(every(i)));
    expect(await limiter.peek("u", of(every(0), 0))).toMatchObject({ remaining: 3 });
    expect(await limiter.refund(first)).toBe(true);
    expect(await limiter.peek("u", of(every(0), 0))).toMatchObject({ remaining: 5 });
  });

  test("limits of another shape are reset, blocked and unblocked together with the limiter's own", async () => {
    const { limiter } = start();
    for (const limits of [hourly(3), daily(3)]) await limiter.consume("u", of(limits, 3));
    expect(await limiter.reset("u")).toBe(true);
    for (const limits of [hourly(3), daily(3)]) {
      expect(await limiter.peek("u", of(limits, 0))).toMatchObject({ remaining: 3 });
    }
    await limiter.block("u", "1h");
    for (const limits of [hourly(3), daily(3)]) {
      expect(await limiter.consume("u", of(limits))).toMatchObject({ blocked: true });
    }
    expect(await limiter.unblock("u")).toBe(true);
    expect(await limiter.consume("u", of(daily(3)))).toMatchObject({ allowed: true });
    await limiter.consume("w", of(daily(3)));
    expect(await limiter.reset("w")).toBe(true);
  });

  test("limits of another shape are in shadow mode if the limiter is", async () => {
    const { limiter } = start({ shadow: true });
    await limiter.consume("u", of(daily(1)));
    expect(await limiter.consume("u", of(daily(1)))).toMatchObject({
      allowed: true,
      wouldAllow: false,
      shadow: true,
    });
    expect(await limiter.wait("u", of(daily(1)))).toMatchObject({ wouldAllow: false });
  });

  test("limits of another shape are decided together with those of an extended limiter", async () => {
    const store = memoryStore({ clock: () => START });
    const base = createLimiter({ name: "base", limits: hourly(5), store });
    const limits = gcra({ limit: 2, window: "1h", per: "route" });
    const limiter = createLimiter({ name: "route", limits, store, extends: base });
    const subject = { default: "u", route: "r" };
    const more = { limits: slidingLog({ limit: 9, window: "1m", per: "route" }) };
    const decision = await limiter.consume(subject, more);
    expect(numbersOf(decision)).toEqual([
      ["5-per-1h", 5, 4],
      ["9-per-1m", 9, 8],
    ]);
    expect(await limiter.refund(decision)).toBe(true);
    expect(await base.peek("u", { cost: 0 })).toMatchObject({ remaining: 5 });
  });

  test("limits of another shape may count by fewer dimensions than the limiter, but not by others", async () => {
    const store = memoryStore({ clock: () => START });
    const own = [hourly(5), fixedWindow({ limit: 9, window: "1h", per: "tenant" })];
    const limiter = createLimiter<"tenant">({ name: "two", limits: own as never, store });
    const subject = { default: "u", tenant: "t" };
    const perTenant = { limits: fixedWindow({ limit: 2, window: "1d", per: "tenant" }) };
    expect(numbersOf(await limiter.consume(subject, perTenant))).toEqual([["2-per-1d", 2, 1]]);
    expect(numbersOf(await limiter.peek(subject, { cost: 0 }))).toEqual([
      ["5-per-1h", 5, 5],
      ["9-per-1h", 9, 9],
    ]);
    await expect(limiter.consume({ tenant: null, default: "u" }, perTenant)).rejects.toMatchObject({
      code: "HEADGATE_EMPTY_KEY",
    });
    const wrong = { limits: { ...hourly(1), per: "user" } as never };
    await expect(limiter.consume(subject, wrong)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_LIMIT",
    });
  });

  test(`limits of another shape block by the limiter's blockOn: with "settle", by the confirmed units of a fixed window`, async () => {
    const { limiter } = start({ blockOn: "settle" });
    const guarded = { ...daily(1), block: "1h" } as const;
    const failed = await limiter.consume("u", of(guarded));
    await limiter.settle(failed, 1);
    expect(await limiter.consume("u", of(guarded))).toMatchObject({ blocked: true });
    const wrong = gcra({ limit: 1, window: "1h", block: "1h" });
    await expect(limiter.consume("u", of(wrong))).rejects.toMatchObject({
      code: "HEADGATE_INVALID_LIMIT",
    });
  });

  test("limits of another shape do not type-check if they count by a dimension that the limiter lacks", () => {
    const { limiter } = start();
    const perTenant = fixedWindow({ limit: 1, window: "1m", per: "tenant" });
    const slots = concurrency({ limit: 1, ttl: "1m" });
    const check = () => {
      void limiter.consume("u", { limits: [slots, daily(1)] });
      void limiter.wait("u", { limits: slots, timeout: "1s" });
      void limiter.run("u", () => {}, { limits: slots, timeout: 0 });
      void limiter.charge("u", { limits: daily(1), cost: 2 });
      // @ts-expect-error The limiter counts by no tenant.
      void limiter.consume("u", { limits: perTenant });
      // @ts-expect-error
      void limiter.wait("u", { limits: perTenant });
      // @ts-expect-error
      void limiter.run("u", () => {}, { limits: [daily(1), perTenant] });
      // @ts-expect-error
      void limiter.charge("u", { limits: perTenant });
    };
    expect(check).toBeTypeOf("function");
  });
});

describe("per-call limits of another shape in Redis", () => {
  const plan = [
    fixedWindow({ limit: 2, window: "1h", name: "user" }),
    fixedWindow({ limit: 9, window: "1h", name: "tenant", per: "tenant" }),
  ];
  const other = [
    slidingLog({ limit: 2, window: "1m", name: "user" }),
    gcra({ limit: 9, window: "1m", name: "tenant", per: "tenant" }),
  ];
  const subject = { default: "u", tenant: "t" };

  test("limits of another shape decide across several hash slots, and are refunded in all of them", async () => {
    const { limiter, answered } = startRemote(plan);
    const taken = await answered(limiter.consume(subject, { limits: other, cost: 2 }));
    expect(taken).toMatchObject({ allowed: true, source: "store" });
    const denied = await answered(limiter.consume(subject, { limits: other }));
    expect(numbersOf(denied)).toEqual([
      ["user", 2, 0],
      ["tenant", 9, 7],
    ]);
    expect(await answered(limiter.consume(subject))).toMatchObject({ allowed: true });
    expect(await answered(limiter.refund(taken))).toBe(true);
    const looked = await answered(limiter.peek(subject, { limits: other, cost: 0 }));
    expect(numbersOf(looked)).toEqual([
      ["user", 2, 2],
      ["tenant", 9, 9],
    ]);
  });

  test("limits of another shape use only cached denials of their own", async () => {
    const { limiter, answered, held } = startRemote();
    await answered(limiter.consume("u", of(daily(1))));
    expect(await answered(limiter.consume("u", of(daily(1))))).toMatchObject({ source: "store" });
    expect(await answered(limiter.consume("u", of(daily(1))))).toMatchObject({
      source: "deny-cache",
      limit: 1,
    });
    expect(await answered(limiter.consume("u"))).toMatchObject({ allowed: true, limit: 3 });
    expect(await answered(limiter.reset("u"))).toBe(true);
    expect(await answered(limiter.consume("u", of(daily(1))))).toMatchObject({ allowed: true });
    expect(held).toEqual([]);
  });

  test("while the store is unavailable, limits of another shape count in this process, including slots", async () => {
    const { limiter } = startRemote(hourly(3), { storeTimeout: "1ms", localShare: 0.5 });
    const limits = [daily(10), concurrency({ limit: 2, ttl: "1m" })];
    const first = await limiter.consume("u", { limits });
    expect(first).toMatchObject({ allowed: true, source: "local", degraded: true });
    expect(numbersOf(first)).toEqual([
      ["10-per-1d", 5, 4],
      ["2-at-once", 1, 0],
    ]);
    expect(await limiter.consume("u", { limits })).toMatchObject({ allowed: false });
    expect(await limiter.release(first)).toBe(true);
    expect(await limiter.consume("u", { limits })).toMatchObject({ allowed: true });
    expect(await limiter.charge("u", of(daily(10), 2))).toMatchObject({
      charged: 2,
      degraded: true,
    });
    await flushMicrotasks();
    await limiter.close();
  });
});
