import type { Decision, Limiter, LimiterOptions } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { useLosableRedis } from "../http/support/losable-redis.ts";
import { watchWarnings } from "../http/support/warnings.ts";

const redis = useLosableRedis();
beforeEach(() => void watchWarnings());

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;
/** That, and what a busy machine may add. */
const IN_TIME_MS = STORE_TIMEOUT_MS + 1_000;

async function start(options: Partial<LimiterOptions> = {}): Promise<Limiter> {
  const limiter = createLimiter({
    name: "api",
    limits: fixedWindow({ limit: 10, window: "1d" }),
    store: await redis.openStore(),
    storeTimeout: STORE_TIMEOUT_MS,
    ...options,
  });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

/** Expects a refusal that says that the store is away, soon. */
async function expectRefused(work: () => Promise<unknown>): Promise<void> {
  const before = performance.now();
  await expect(work()).rejects.toMatchObject({ code: "HEADGATE_STORE_UNAVAILABLE" });
  expect(performance.now() - before).toBeLessThan(IN_TIME_MS);
}

describe("a refund", () => {
  test("a refund of a local decision is made locally, once, and for its own subject", async () => {
    const limiter = await start();
    // The first decision of a process would find out by the control record that the store is away, and not be sent.
    await limiter.peek("v");
    redis.lose();
    const first = await limiter.consume("u", { cost: 3 });
    const second = await limiter.consume("u", { cost: 2 });
    expect(second).toMatchObject({ source: "local", remaining: 5 });
    expect(await limiter.refund(first)).toBe(true);
    expect(await limiter.refund(first)).toBe(false);
    expect(await limiter.consume("u")).toMatchObject({ remaining: 7 });
    await redis.restore();
    // Also later: the store charged the first call that it received, and refunds nothing for it.
    expect(await limiter.refund(second)).toBe(true);
    expect(await limiter.peek("u")).toMatchObject({ source: "store", remaining: 10 - 3 - 1 });
  });

  test.each(["allow", "deny"] as const)(
    "a refund of a decision by onUnavailable %s resolves with false",
    async (onUnavailable) => {
      const limiter = await start({ onUnavailable });
      redis.lose();
      expect(await limiter.refund(await limiter.consume("u"))).toBe(false);
    },
  );

  test("a refund that was not sent can be repeated", async () => {
    const limiter = await start();
    const decision = await limiter.consume("u", { cost: 4 });
    redis.lose();
    // This one finds out that the store is away, so that no refund is sent.
    expect(await limiter.consume("v")).toMatchObject({ degraded: true });
    for (let i = 0; i < 3; i += 1) await expectRefused(() => limiter.refund(decision));
    await redis.restore();
    expect(await limiter.peek("u")).toMatchObject({ source: "store", remaining: 5 });
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect(await limiter.peek("u")).toMatchObject({ remaining: 9 });
  });

  test("a refund that was not sent can be repeated through another limiter of the same name, and works once", async () => {
    const store = await redis.openStore();
    const [one, other] = [await start({ store }), await start({ store })];
    const decision = await one.consume("u", { cost: 4 });
    redis.lose();
    expect(await one.consume("v")).toMatchObject({ degraded: true });
    await expectRefused(() => one.refund(decision));
    await expectRefused(() => other.refund(decision));
    await redis.restore();
    expect(await other.refund(decision)).toBe(true);
    expect(await one.refund(decision)).toBe(false);
    expect(await other.refund(decision)).toBe(false);
    expect(await one.peek("u")).toMatchObject({ source: "store", remaining: 9 });
  });

  test("a refund that was sent but not answered rejects in time, and refunds at most once", async () => {
    const limiter = await start();
    const decision = await limiter.consume("u", { cost: 4 });
    redis.lose();
    await expectRefused(() => limiter.refund(decision));
    await redis.restore();
    // The frozen server had it in its socket, and has done it since.
    expect(await limiter.peek("u")).toMatchObject({ source: "store", remaining: 9 });
    expect(await limiter.refund(decision)).toBe(false);
    expect(await limiter.peek("u")).toMatchObject({ remaining: 9 });
  });
});

describe("a settle", () => {
  const AWAY = { overflow: 0, degraded: true };

  test("a settle of a local decision is made locally, once", async () => {
    const limiter = await start();
    redis.lose();
    const first = await limiter.consume("u", { cost: 3 });
    const second = await limiter.consume("u", { cost: 2 });
    expect(await limiter.settle(first, 1)).toEqual({ ...AWAY, charged: 1 });
    expect(await limiter.settle(second, 12)).toEqual({ ...AWAY, charged: 12 });
    expect(await limiter.settle(second, 0)).toMatchObject({ charged: 0 });
    const denied = await limiter.consume("u");
    expect(denied).toMatchObject({ allowed: false, source: "local" });
    expect(denied.limits[0]).toMatchObject({ overdrawn: 3 });
  });

  test.each([1, 7])("a settle at %i that was not sent can be repeated", async (units) => {
    const limiter = await start();
    const decision = await limiter.consume("u", { cost: 4 });
    redis.lose();
    expect(await limiter.consume("v")).toMatchObject({ degraded: true });
    for (let i = 0; i < 3; i += 1) {
      expect(await limiter.settle(decision, units)).toEqual({ ...AWAY, charged: 4 });
    }
    await redis.restore();
    expect(await limiter.settle(decision, units)).toMatchObject({
      charged: units,
      degraded: false,
    });
    expect(await limiter.settle(decision, units)).toMatchObject({ charged: 0, degraded: false });
    expect(await limiter.peek("u", { cost: 0 })).toMatchObject({ remaining: 10 - units });
  });

  test.each([1, 7])(
    "a settle at %i that is not answered in time is degraded, and happens at most once",
    async (units) => {
      const limiter = await start();
      const decision = await limiter.consume("u", { cost: 4 });
      redis.lose();
      const before = performance.now();
      expect(await limiter.settle(decision, units)).toEqual({ ...AWAY, charged: 4 });
      expect(performance.now() - before).toBeLessThan(IN_TIME_MS);
      await redis.restore();
      // The frozen server had it in its socket, and has done it since.
      expect(await limiter.settle(decision, units)).toMatchObject({ charged: 0, degraded: false });
      expect(await limiter.peek("u", { cost: 0 })).toMatchObject({ remaining: 10 - units });
    },
  );
});

describe("a charge", () => {
  test("a charge without the store counts in this process, in time, and is degraded", async () => {
    const limiter = await start();
    redis.lose();
    await limiter.consume("v");
    const before = performance.now();
    const charged = await limiter.charge("u", { cost: 14 });
    expect(performance.now() - before).toBeLessThan(IN_TIME_MS);
    expect(charged).toEqual({ charged: 14, overflow: 0, degraded: true });
    expect(await limiter.consume("u")).toMatchObject({ allowed: false, source: "local" });
    await redis.restore();
    expect(await limiter.consume("u")).toMatchObject({ allowed: true, source: "store" });
    expect(await limiter.charge("u", { cost: 14 })).toMatchObject({ degraded: false });
    expect(await limiter.consume("u")).toMatchObject({ allowed: false, source: "store" });
  });
});

describe("a reset", () => {
  test("a reset without the store rejects in time, and can be repeated", async () => {
    const limiter = await start();
    await limiter.consume("u", { cost: 10 });
    redis.lose();
    await limiter.consume("v");
    await expectRefused(() => limiter.reset("u"));
    await redis.restore();
    expect(await limiter.reset("u")).toBe(true);
    expect(await limiter.peek("u")).toMatchObject({ source: "store", remaining: 9 });
  });

  test("a reset without the store forgets local usage", async () => {
    const limiter = await start();
    redis.lose();
    await limiter.consume("u", { cost: 10 });
    expect((await limiter.consume("u")).allowed).toBe(false);
    await expectRefused(() => limiter.reset("u"));
    expect(await limiter.consume("u")).toMatchObject({ source: "local", remaining: 9 });
  });
});

describe("a peek", () => {
  test("a peek without the store charges nothing, locally or in Redis", async () => {
    const limiter = await start();
    redis.lose();
    for (let i = 0; i < 5; i += 1) {
      expect(await limiter.peek("u", { cost: 10 })).toMatchObject({
        allowed: true,
        source: "local",
        degraded: true,
        remaining: 0,
      });
    }
    expect(await limiter.consume("u")).toMatchObject({ source: "local", remaining: 9 });
    await redis.restore();
    expect(await limiter.consume("u", { cost: 10 })).toMatchObject({ source: "store" });
  });
});

describe("a wait", () => {
  test("a wait continues through an outage: admitted locally during it, and by the store after it", async () => {
    const limiter = await start({ limits: gcra({ limit: 1, window: 200 }) });
    const sources: string[] = [];
    const wait = async (): Promise<Decision> => {
      const decision = await limiter.wait("u");
      sources.push(decision.source);
      return decision;
    };
    await wait();
    redis.lose();
    for (let i = 0; i < 3; i += 1) expect(await wait()).toMatchObject({ allowed: true });
    await redis.restore();
    for (let i = 0; i < 2; i += 1) expect(await wait()).toMatchObject({ allowed: true });
    expect(sources).toEqual(["store", "local", "local", "local", "store", "store"]);
  });

  test('with onUnavailable "deny", a wait is admitted once the store answers again', async () => {
    const limiter = await start({ onUnavailable: "deny" });
    redis.lose();
    expect(await limiter.consume("v")).toMatchObject({ allowed: false, source: "deny" });
    const waiting = limiter.wait("u");
    await redis.restore();
    expect(await waiting).toMatchObject({ allowed: true, source: "store", degraded: false });
  });

  test('with onUnavailable "deny", a wait times out if the store stays unavailable', async () => {
    const limiter = await start({ onUnavailable: "deny" });
    redis.lose();
    await expect(limiter.wait("u", { timeout: 300 })).rejects.toMatchObject({
      code: "HEADGATE_WAIT_TIMEOUT",
    });
  });
});
