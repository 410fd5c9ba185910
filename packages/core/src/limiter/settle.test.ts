import { describe, expect, test } from "vitest";
import { flushMicrotasks, holdStore, resultOf } from "../../../../test/support/held-store.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { HeadgateError } from "../common/errors.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { LimiterOptions } from "./limiter.ts";

const limits = fixedWindow({ limit: 10, window: "1h" });
const NOTHING = { charged: 0, overflow: 0, degraded: false };

async function remaining(limiter: { peek: ReturnType<typeof createLimiter>["peek"] }) {
  return (await limiter.peek("u", { cost: 0 })).remaining;
}

describe("settle", () => {
  test.each([-1, 0.5, Number.NaN, 2 ** 53, "3", undefined, null])(
    "settle rejects %s units, and the decision can still be settled",
    async (units) => {
      const limiter = createLimiter({ limits });
      const decision = await limiter.consume("u", { cost: 4 });
      await expect(limiter.settle(decision, units as never)).rejects.toMatchObject({
        code: "HEADGATE_INVALID_COST",
        message: expect.stringContaining("units must be a whole number from 0"),
      });
      expect(await limiter.settle(decision, 1)).toEqual({ ...NOTHING, charged: 1 });
      expect(await remaining(limiter)).toBe(9);
    },
  );

  test("settle rejects decisions of other limiters and further arguments", async () => {
    const limiter = createLimiter({ limits });
    const other = createLimiter({ limits });
    const decision = await limiter.consume("u", { cost: 4 });
    for (const stranger of [undefined, {}, { ...decision }, await other.consume("u")]) {
      await expect(limiter.settle(stranger as never, 1)).rejects.toMatchObject({
        code: "HEADGATE_INVALID_DECISION",
        message: expect.stringContaining("settle"),
      });
    }
    const loose = limiter.settle as (...given: unknown[]) => Promise<unknown>;
    await expect(loose(decision, 1, { cost: 2 })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: "settle(decision, units) takes no other argument, got an object",
    });
    expect(await limiter.settle(decision, 1)).toMatchObject({ charged: 1 });
    await limiter.close();
    await expect(limiter.settle(decision, 1)).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });

  test("settle does nothing for a denied, peeked, refunded or settled decision", async () => {
    const limiter = createLimiter({ limits });
    const refunded = await limiter.consume("u", { cost: 2 });
    await limiter.refund(refunded);
    const settled = await limiter.consume("u", { cost: 2 });
    await Promise.all([limiter.settle(settled, 2), limiter.settle(settled, 9)]);
    const denied = await limiter.consume("u", { cost: 9 });
    for (const decision of [refunded, settled, denied, await limiter.peek("u")]) {
      expect(await limiter.settle(decision, 7)).toEqual(NOTHING);
    }
    expect(await remaining(limiter)).toBe(8);
  });

  test("settle treats -0 as 0", async () => {
    const limiter = createLimiter({ limits });
    const decision = await limiter.consume("u");
    expect(await limiter.settle(decision, -0)).toEqual(NOTHING);
    expect(await remaining(limiter)).toBe(10);
  });

  test("a decision can be settled through another handle of the limiter, and through one that extends it", async () => {
    const store = memoryStore();
    const [one, other] = [1, 2].map(() => createLimiter({ name: "api", limits, store })) as [
      ReturnType<typeof createLimiter>,
      ReturnType<typeof createLimiter>,
    ];
    const child = createLimiter({
      name: "child",
      extends: one,
      limits: fixedWindow({ limit: 5, window: "1d" }),
    });
    await other.settle(await one.consume("u", { cost: 3 }), 1);
    expect(await remaining(one)).toBe(9);
    await child.settle(await one.consume("u"), 3);
    expect(await remaining(one)).toBe(6);
    await child.settle(await child.consume("u"), 4);
    const { limits: both } = await child.peek("u", { cost: 0 });
    expect(both.map((limit) => limit.remaining)).toEqual([2, 1]);
  });
});

describe("settle and charge while the store is unavailable", () => {
  const unavailable = new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "unavailable");

  function start(options: Partial<LimiterOptions> = {}) {
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({
      name: "api",
      limits: fixedWindow({ limit: 100, window: "1h" }),
      store,
      storeTimeout: "1m",
      denyCache: false,
      ...options,
    });
    return {
      limiter,
      held,
      answer: <T>(pending: Promise<T>) => resultOf(held, pending),
      async refused<T>(pending: Promise<T>): Promise<T> {
        await flushMicrotasks();
        for (const call of held.splice(0)) await call.refuse(unavailable);
        return pending;
      },
    };
  }

  test("without the store, a charge counts in this process and is degraded", async () => {
    const { limiter, refused } = start({ onUnavailable: "local" });
    expect(await refused(limiter.charge("u", { cost: 130 }))).toEqual({
      charged: 130,
      overflow: 0,
      degraded: true,
    });
    const denied = await refused(limiter.consume("u"));
    expect(denied).toMatchObject({ allowed: false, source: "local" });
    expect(denied.limits[0]?.overdrawn).toBe(30);
  });

  test.each(["allow", "deny"] as const)(
    "without the store and with onUnavailable %s, a charge counts nowhere",
    async (onUnavailable) => {
      const { limiter, refused } = start({ onUnavailable });
      expect(await refused(limiter.charge("u", { cost: 130 }))).toEqual({
        ...NOTHING,
        degraded: true,
      });
      const decision = await refused(limiter.consume("u"));
      expect(await limiter.settle(decision, 5)).toEqual({
        ...NOTHING,
        degraded: onUnavailable === "allow",
      });
    },
  );

  test("a local decision is settled in this process", async () => {
    const { limiter, refused } = start();
    const [less, more] = [
      await refused(limiter.consume("u", { cost: 10 })),
      await refused(limiter.consume("u", { cost: 10 })),
    ];
    expect(await limiter.settle(less, 4)).toEqual({ charged: 4, overflow: 0, degraded: true });
    expect(await limiter.settle(more, 30)).toEqual({ charged: 30, overflow: 0, degraded: true });
    expect(await limiter.settle(more, 3)).toEqual(NOTHING);
    const looked = await refused(limiter.peek("u", { cost: 0 }));
    expect(looked).toMatchObject({ source: "local", remaining: 66 });
  });

  test("with localShare, a settled decision counts like one with its real cost", async () => {
    // A share of ten, as which every cost from ten to a hundred counts.
    for (const [cost, units, left] of [
      [50, 20, 0],
      [50, 5, 5],
      [5, 50, 0],
      [50, 60, 0],
      [3, 8, 2],
      [1, 130, -120],
    ] as const) {
      const { limiter, refused } = start({ localShare: 0.1 });
      const decision = await refused(limiter.consume("u", { cost }));
      expect(await limiter.settle(decision, units)).toMatchObject({ charged: units });
      const { limits: looked } = await refused(limiter.peek("u", { cost: 0 }));
      const [state] = looked;
      expect((state?.remaining ?? 0) - (state?.overdrawn ?? 0), `${cost}, ${units}`).toBe(left);
    }
  });

  test("a decision that the store could not settle keeps its estimated cost, and is not settled later", async () => {
    const { limiter, answer, refused } = start();
    for (const units of [2, 30]) {
      const decision = await answer(limiter.consume("u", { cost: 10 }));
      expect(await refused(limiter.settle(decision, units))).toEqual({
        charged: 10,
        overflow: 0,
        degraded: true,
      });
      expect(await limiter.settle(decision, units)).toEqual(NOTHING);
    }
    expect(await answer(limiter.peek("u", { cost: 0 }))).toMatchObject({ remaining: 80 });
  });
});

describe("settle and charge with leases", () => {
  function start() {
    const { store, held, advance } = holdStore(() => 0);
    const limiter = createLimiter({
      name: "api",
      limits: fixedWindow({ limit: 1_000, window: "1h" }),
      store,
      storeTimeout: "1m",
      lease: { max: 100, ttl: "1s" },
    });
    return { limiter, advance, answer: <T>(pending: Promise<T>) => resultOf(held, pending) };
  }

  test("a decision paid from a lease is settled in the store, and a charge goes to the store", async () => {
    const { limiter, advance, answer } = start();
    await answer(limiter.consume("u"));
    advance(1);
    await answer(limiter.consume("u"));
    const paid = await answer(limiter.consume("u"));
    expect(paid.source).toBe("lease");
    const left = async () => {
      const { remaining: some, limits: looked } = await answer(limiter.peek("u", { cost: 0 }));
      return some - (looked[0]?.overdrawn ?? 0);
    };
    const before = await left();
    expect(await answer(limiter.settle(paid, 21))).toEqual({
      charged: 21,
      overflow: 0,
      degraded: false,
    });
    expect(await left()).toBe(before - 20);
    const again = await answer(limiter.consume("u"));
    expect(await answer(limiter.settle(again, 0))).toEqual(NOTHING);
    expect(await left()).toBe(before - 20);
    await answer(limiter.charge("u", { cost: 2_000 }));
    // Leased units are charged but not spent, so they are subtracted from the overdrawn ones.
    expect(await left()).toBe(before - 2_020);
  });
});
