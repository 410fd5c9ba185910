import { describe, expect, test } from "vitest";
import { flushMicrotasks, holdStore, resultOf } from "../../../../test/support/held-store.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import type { Decision } from "../common/decision.ts";
import type { Policy } from "../common/policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { LimiterOptions } from "./limiter.ts";

const START = 1_800_000_000_000;

const hourly = (limit: number) => fixedWindow({ limit, window: "1h" });
const under = (limit: number, cost = 1) => ({ limits: hourly(limit), cost });

function start(more: Partial<LimiterOptions> = {}) {
  const store = memoryStore({ clock: () => START });
  return createLimiter({ name: "plans", limits: hourly(30), store, ...more });
}

/** A limiter on a server whose calls run when the test says so. Each dimension has a hash slot of its own. */
function startRemote(limits: Policy = hourly(30), more: Partial<LimiterOptions> = {}) {
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

describe("per-call limits", () => {
  test("per-call limits decide and are reported, by the names in the policy", async () => {
    const limiter = start();
    await limiter.consume("u", { cost: 30 });
    expect(await limiter.consume("u")).toMatchObject({ allowed: false, limit: 30 });
    const upgraded = await limiter.consume("u", under(1_000));
    expect(upgraded).toMatchObject({ allowed: true, limit: 1_000, remaining: 969 });
    expect(numbersOf(upgraded)).toEqual([["30-per-1h", 1_000, 969]]);
    expect(numbersOf(await limiter.peek("u", under(10, 0)))).toEqual([["30-per-1h", 10, 0]]);
    expect((await limiter.peek("u", under(10, 0))).limits[0]).toMatchObject({ overdrawn: 21 });
    expect(await limiter.peek("u", under(40))).toMatchObject({ allowed: true, remaining: 8 });
    expect(limiter.limits).toMatchObject([{ name: "30-per-1h", limit: 30 }]);
    expect(await limiter.peek("u")).toMatchObject({ allowed: false, limit: 30 });
  });

  test("without per-call limits, the limiter's own apply", async () => {
    expect(await start().consume("u", { limits: undefined })).toMatchObject({ limit: 30 });
  });

  test("a refund follows the per-call limits of its decision, even if other limits apply by then", async () => {
    const limiter = start();
    const decision = await limiter.consume("u", under(1_000, 500));
    expect(await limiter.consume("u")).toMatchObject({ allowed: false });
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect(await limiter.peek("u", { cost: 0 })).toMatchObject({ remaining: 30 });
  });

  test("invalid per-call limits are rejected", async () => {
    const limiter = start();
    for (const limits of [null, [], hourly(-1), { ...hourly(1), per: "tenant" }]) {
      for (const call of ["consume", "peek"] as const) {
        await expect(limiter[call]("u", { limits: limits as Policy })).rejects.toMatchObject({
          code: "HEADGATE_INVALID_LIMIT",
        });
      }
    }
    expect(await limiter.peek("u", { cost: 0 })).toMatchObject({ remaining: 30 });
  });

  test("wait, run and charge take per-call limits, too", async () => {
    const limiter = start();
    await limiter.charge("u", { cost: 30 });
    expect(await limiter.wait("u", under(1_000))).toMatchObject({ limit: 1_000, remaining: 969 });
    const run = () => limiter.run("u", ({ decision }) => decision.remaining, { timeout: 0 });
    await expect(run()).rejects.toMatchObject({ code: "HEADGATE_DENIED" });
    const paid = await limiter.run("u", ({ decision }) => decision.remaining, under(1_000));
    expect(paid).toBe(968);
    const now = under(1_000);
    await expect(limiter.wait("u", { ...now, cost: 1_001 })).rejects.toMatchObject({
      code: "HEADGATE_COST_ABOVE_LIMIT",
    });
    expect(await limiter.charge("u", { ...now, cost: 5 })).toMatchObject({ charged: 5 });
    expect(await limiter.peek("u", { ...now, cost: 0 })).toMatchObject({ remaining: 963 });
  });

  test("a limiter with leases rejects per-call limits, and keeps working without them", async () => {
    const { limiter, answered } = startRemote(hourly(30), { lease: { max: 10, ttl: "1s" } });
    for (const call of ["consume", "peek", "wait", "charge"] as const) {
      await expect(limiter[call]("u", under(1_000))).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining("lease"),
      });
    }
    expect(await answered(limiter.consume("u"))).toMatchObject({ allowed: true, limit: 30 });
    await answered(limiter.close());
  });

  test("per-call limits replace the limiter's own limits, not those of the limiter it extends", async () => {
    const store = memoryStore({ clock: () => START });
    const base = createLimiter({ name: "base", limits: hourly(5), store });
    const limits = gcra({ limit: 2, window: "1h", name: "route", per: "route" });
    const limiter = createLimiter({ name: "route", limits, store, extends: base });
    const subject = { default: "u", route: "r" };
    const more = { limits: gcra({ limit: 100, window: "1h", per: "route" }) };
    for (let i = 0; i < 5; i += 1) await limiter.consume(subject, more);
    const denied = await limiter.consume(subject, more);
    expect(denied.allowed).toBe(false);
    expect(numbersOf(denied)).toEqual([
      ["5-per-1h", 5, 0],
      ["route", 100, 95],
    ]);
    expect(await base.consume("u")).toMatchObject({ allowed: false });
    await expect(limiter.consume(subject, { limits: hourly(9) as never })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_LIMIT",
    });
  });
});

describe("per-call limits of several dimensions in separate hash slots", () => {
  const plan = (user: number, tenant: number) => [
    fixedWindow({ limit: user, window: "1h", name: "user" }),
    fixedWindow({ limit: tenant, window: "1h", name: "tenant", per: "tenant" }),
  ];
  const subject = { default: "u", tenant: "t" };

  test("per-call limits decide and are refunded in every hash slot", async () => {
    const { limiter, answered } = startRemote(plan(2, 3));
    for (let i = 0; i < 2; i += 1) await answered(limiter.consume(subject));
    expect((await answered(limiter.consume(subject))).allowed).toBe(false);
    const taken = await answered(limiter.consume(subject, { limits: plan(10, 20), cost: 8 }));
    expect(taken).toMatchObject({ allowed: true, source: "store" });
    expect(numbersOf(taken)).toEqual([
      ["user", 10, 0],
      ["tenant", 20, 10],
    ]);
    expect(await answered(limiter.refund(taken))).toBe(true);
    expect(numbersOf(await answered(limiter.peek(subject, { cost: 0 })))).toEqual([
      ["user", 2, 0],
      ["tenant", 3, 1],
    ]);
  });

  test("a null subject leaves out the per-call limits of its dimension", async () => {
    const { limiter, answered } = startRemote(plan(2, 3));
    const pending = limiter.consume({ default: null, tenant: "t" }, { limits: plan(10, 20) });
    expect(numbersOf(await answered(pending))).toEqual([["tenant", 20, 19]]);
  });
});

describe("a cached denial", () => {
  test("a cached denial applies only to the same per-call limits", async () => {
    const { limiter, held, answered, advance } = startRemote();
    await answered(limiter.consume("u", { cost: 30 }));
    expect(await answered(limiter.consume("u"))).toMatchObject({ source: "store", limit: 30 });
    expect(await answered(limiter.consume("u", under(1_000)))).toMatchObject({
      allowed: true,
      source: "store",
      remaining: 969,
    });
    await answered(limiter.consume("u", under(1_000, 969)));
    advance(1);
    // Both denials are cached now, and neither is mistaken for the other.
    for (const source of ["store", "deny-cache", "deny-cache"]) {
      for (const limit of [30, 1_000]) {
        const denied = await answered(limiter.consume("u", under(limit)));
        expect(denied).toMatchObject({ allowed: false, source, limit });
      }
    }
    expect(held).toEqual([]);
  });

  test("a cached denial does not describe another counter whose limits have changed", async () => {
    const { limiter, answered } = startRemote([
      fixedWindow({ limit: 1, window: "1m", name: "user" }),
      fixedWindow({ limit: 90, window: "1h", name: "tenant", per: "tenant" }),
    ]);
    const plan = (tenant: number) => ({
      limits: [
        fixedWindow({ limit: 1, window: "1m", name: "user" }),
        fixedWindow({ limit: tenant, window: "1h", name: "tenant", per: "tenant" }),
      ],
    });
    const subject = { default: "u", tenant: "t" };
    await answered(limiter.consume(subject));
    const first = await answered(limiter.consume(subject, plan(90)));
    expect(first).toMatchObject({ allowed: false, source: "store" });
    const known = await answered(limiter.consume(subject, plan(90)));
    expect(known).toMatchObject({ source: "deny-cache" });
    expect(numbersOf(known)).toEqual([
      ["user", 1, 0],
      ["tenant", 90, 89],
    ]);
    const other = await answered(limiter.consume(subject, plan(50)));
    expect(other.allowed).toBe(false);
    expect(numbersOf(other).filter(([name]) => name === "tenant")).toEqual([]);
  });
});

describe("per-call limits while the store is unavailable", () => {
  const unavailable = { storeTimeout: "1ms" } as const;

  test("while the store is unavailable, per-call limits count in this process under the effective limits", async () => {
    const { limiter } = startRemote(hourly(30), unavailable);
    expect(await limiter.consume("u", { cost: 30 })).toMatchObject({ source: "local" });
    expect(await limiter.consume("u")).toMatchObject({ allowed: false, limit: 30 });
    const upgraded = await limiter.consume("u", under(1_000));
    expect(upgraded).toMatchObject({ allowed: true, source: "local", remaining: 969 });
    expect(await limiter.refund(upgraded)).toBe(true);
    expect(await limiter.peek("u", under(1_000, 0))).toMatchObject({ remaining: 970 });
    await limiter.close();
  });

  test("while the store is unavailable, localShare applies to per-call limits", async () => {
    const { limiter } = startRemote(hourly(30), { ...unavailable, localShare: 0.1 });
    expect(await limiter.consume("u", { cost: 3 })).toMatchObject({ limit: 3, remaining: 0 });
    const upgraded = await limiter.consume("u", under(1_000));
    expect(numbersOf(upgraded)).toEqual([["30-per-1h", 100, 96]]);
    expect(await limiter.consume("u", under(40))).toMatchObject({ allowed: false, limit: 4 });
    expect(await limiter.reset("u").catch(({ code }) => code)).toBe("HEADGATE_STORE_UNAVAILABLE");
    await flushMicrotasks();
    await limiter.close();
  });
});
