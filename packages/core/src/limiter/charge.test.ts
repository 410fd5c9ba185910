import { afterEach, describe, expect, test, vi } from "vitest";
import {
  CROSS_SLOT,
  flushMicrotasks,
  holdStore,
  resultOf,
} from "../../../../test/support/held-store.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "./create-limiter.ts";
import type { Limiter } from "./limiter.ts";

const hourly = (limit: number, per = "default", name = per) =>
  fixedWindow({ limit, window: "1h", per, name });

function overdrawnIn(limiter: Limiter, subject: Parameters<Limiter["peek"]>[0] = "u") {
  return limiter
    .peek(subject, { cost: 0 })
    .then(({ limits }) => limits.map(({ remaining, overdrawn }) => remaining - overdrawn));
}

afterEach(() => {
  vi.useRealTimers();
});

describe("charge", () => {
  const limiter = createLimiter({ limits: hourly(10) });

  test.each([-1, 1.5, Number.NaN, 2 ** 53, "3", null])(
    "charge rejects a cost of %s",
    async (cost) => {
      await expect(limiter.charge("u", { cost: cost as never })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_COST",
      });
    },
  );

  test("charge rejects unknown options and invalid subjects", async () => {
    await expect(limiter.charge("u", { costs: 3 } as never)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("charge"),
    });
    await expect(limiter.charge("")).rejects.toMatchObject({ code: "HEADGATE_EMPTY_KEY" });
    await expect(limiter.charge(3 as never)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_KEY",
    });
    expect(await limiter.reset("u")).toBe(false);
  });

  test("charge rejects once the limiter is closed", async () => {
    const closed = createLimiter({ limits: hourly(10) });
    await closed.close();
    await expect(closed.charge("u")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });

  test("charge charges each dimension with a subject, and both limiters if one extends the other", async () => {
    const parent = createLimiter({ name: "parent", limits: [hourly(10), hourly(9, "tenant")] });
    const child = createLimiter({ name: "child", extends: parent, limits: hourly(8, "global") });
    const who = { default: "u", tenant: "t" };
    await child.charge(who, { cost: 2 });
    expect(await overdrawnIn(child, who)).toEqual([8, 7, 6]);
    await child.charge({ default: "u", tenant: null, global: null }, { cost: 11 });
    expect(await overdrawnIn(child, who)).toEqual([-3, 7, 6]);
  });

  test("waiting calls wait until a charge has drained", async () => {
    vi.useFakeTimers();
    const waited = createLimiter({ limits: gcra({ limit: 1, window: "1s" }) });
    await waited.consume("u");
    let isAdmitted = false;
    void waited.wait("u").then(() => {
      isAdmitted = true;
    });
    await vi.advanceTimersByTimeAsync(500);
    await waited.charge("u", { cost: 2 });
    await vi.advanceTimersByTimeAsync(2_400);
    expect(isAdmitted).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(isAdmitted).toBe(true);
  });
});

describe("the deny cache", () => {
  function start(limits: Policy) {
    const { store, held, advance } = holdStore(() => 0);
    const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
    return {
      limiter,
      held,
      advance,
      answer: <T>(pending: Promise<T>) => resultOf(held, pending),
    };
  }
  const denied = async (limiter: Limiter, answer: <T>(pending: Promise<T>) => Promise<T>) => {
    const { source, retryAfterMs } = await answer(limiter.consume("u"));
    return [source, retryAfterMs];
  };

  test("a charge, and a settle for more units, drop cached denials", async () => {
    const { limiter, advance, answer } = start(gcra({ limit: 10, window: "1s" }));
    const decision = await answer(limiter.consume("u", { cost: 10 }));
    expect(await denied(limiter, answer)).toEqual(["store", 100]);
    expect(await denied(limiter, answer)).toEqual(["deny-cache", 100]);
    await answer(limiter.charge("u", { cost: 5 }));
    advance(1);
    expect(await denied(limiter, answer)).toEqual(["store", 599]);
    expect(await denied(limiter, answer)).toEqual(["deny-cache", 599]);
    await answer(limiter.settle(decision, 12));
    expect(await denied(limiter, answer)).toEqual(["store", 799]);
  });

  test("a denial requested before a charge is not cached after it", async () => {
    const { limiter, held, advance, answer } = start(gcra({ limit: 10, window: "1s" }));
    await answer(limiter.consume("u", { cost: 10 }));
    const pending = limiter.consume("u");
    await flushMicrotasks();
    advance(1);
    const charge = limiter.charge("u", { cost: 5 });
    await flushMicrotasks();
    const [first, second] = held.splice(0);
    await first?.execute();
    await second?.carryOut();
    await first?.deliver();
    expect(await pending).toMatchObject({ retryAfterMs: 99 });
    expect(await charge).toEqual({ charged: 5, overflow: 0, degraded: false });
    expect(await denied(limiter, answer)).toEqual(["store", 599]);
  });
});

describe("charges across several hash slots", () => {
  const who = { default: "u", tenant: "t" };

  function start() {
    let hasSlots = true;
    const { store, held } = holdStore((key) => (hasSlots ? (key.includes(":tenant:") ? 1 : 2) : 0));
    const limits = [hourly(10), hourly(10, "tenant")];
    const options = { name: "api", limits, store, denyCache: false, storeTimeout: "1m" } as const;
    return {
      limiter: createLimiter(options),
      held,
      slots(known: boolean) {
        hasSlots = known;
      },
    };
  }
  const unavailable = new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "unavailable");

  test("each hash slot is charged separately, and an unavailable one makes the result degraded", async () => {
    const { limiter, held } = start();
    const charge = limiter.charge(who, { cost: 13 });
    await flushMicrotasks();
    expect(held.map(({ name }) => name)).toEqual(["charge", "charge"]);
    await held.shift()?.carryOut();
    await held.shift()?.refuse(unavailable);
    expect(await charge).toEqual({ charged: 13, overflow: 0, degraded: true });
    expect(await resultOf(held, overdrawnIn(limiter, who))).toEqual([-3, 10]);
  });

  test("a settle for more units that one hash slot misses is degraded, and charges the other one", async () => {
    const { limiter, held } = start();
    const decision = await resultOf(held, limiter.consume(who, { cost: 2 }));
    const settle = limiter.settle(decision, 5);
    await flushMicrotasks();
    await held.shift()?.refuse(unavailable);
    await held.shift()?.carryOut();
    expect(await settle).toEqual({ charged: 5, overflow: 0, degraded: true });
    expect(await resultOf(held, overdrawnIn(limiter, who))).toEqual([8, 5]);
  });

  test("a settle that no hash slot receives keeps the estimated cost", async () => {
    const { limiter, held } = start();
    for (const units of [5, 1]) {
      const decision = await resultOf(held, limiter.consume(who, { cost: 2 }));
      const settle = limiter.settle(decision, units);
      await flushMicrotasks();
      for (const call of held.splice(0)) await call.refuse(unavailable);
      expect(await settle).toEqual({ charged: 2, overflow: 0, degraded: true });
    }
    expect(await resultOf(held, overdrawnIn(limiter, who))).toEqual([6, 6]);
  });

  test("a charge rejected with CROSSSLOT is repeated in each hash slot", async () => {
    const { limiter, held, slots } = start();
    slots(false);
    const charge = limiter.charge(who, { cost: 13 });
    await flushMicrotasks();
    expect(held).toHaveLength(1);
    slots(true);
    await held.shift()?.refuse(CROSS_SLOT);
    expect(held.map(({ name }) => name)).toEqual(["charge", "charge"]);
    expect(await resultOf(held, charge)).toEqual({ charged: 13, overflow: 0, degraded: false });
    expect(await resultOf(held, overdrawnIn(limiter, who))).toEqual([-3, -3]);
  });

  test("a decision charged in several hash slots is settled once in each", async () => {
    const { limiter, held } = start();
    const decision = await resultOf(held, limiter.consume(who, { cost: 4 }));
    expect(await resultOf(held, limiter.settle(decision, 1))).toMatchObject({ charged: 1 });
    expect(await resultOf(held, overdrawnIn(limiter, who))).toEqual([9, 9]);
    expect(await limiter.settle(decision, 9)).toEqual({ charged: 0, overflow: 0, degraded: false });
  });
});
