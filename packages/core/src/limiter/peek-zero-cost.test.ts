import { describe, expect, test } from "vitest";
import { flushMicrotasks, holdStore } from "../../../../test/support/held-store.ts";
import { runningBy } from "../../../../test/support/send-by.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { slidingWindow } from "../algorithms/sliding-window.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import type { Decision } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import { brandStore, requireStore } from "../store/store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";

/** Each algorithm grants ten at once. */
const TEN = [
  gcra({ limit: 10, window: "10s" }),
  tokenBucket({ capacity: 10, refill: 1, every: "1s" }),
  fixedWindow({ limit: 10, window: "10s" }),
  slidingWindow({ limit: 10, window: "10s" }),
  slidingWindow({ limit: 10, window: "10s", buckets: 5 }),
  slidingLog({ limit: 10, window: "10s" }),
];

function start(limits: Policy) {
  let now = 1_800_000_000_000;
  const store = requireStore(memoryStore({ clock: () => now }));
  const limiter: Limiter = createLimiter({ name: "api", limits, store });
  return {
    limiter,
    pass(ms: number) {
      now += ms;
    },
  };
}

const look = (limiter: Limiter): Promise<Decision> => limiter.peek("u", { cost: 0 });

describe.each(TEN)("a peek with cost 0 at $algorithm", (limit) => {
  test("a peek with cost 0 reports an unused limit as unused", async () => {
    const { limiter } = start(limit);
    expect(await look(limiter)).toEqual({
      allowed: true,
      limit: 10,
      remaining: 10,
      retryAfterMs: 0,
      resetAfterMs: 0,
      cost: 0,
      source: "store",
      degraded: false,
      shadow: false,
      blocked: false,
      overridden: false,
      wouldAllow: true,
      limits: [
        {
          ...limiter.limits[0],
          allowed: true,
          remaining: 10,
          overdrawn: 0,
          retryAfterMs: 0,
          resetAfterMs: 0,
          refillAfterMs: 0,
        },
      ],
    });
  });

  test("a peek with cost 0 reports the remaining units, and later the recovered ones", async () => {
    const { limiter, pass } = start(limit);
    const decision = await limiter.consume("u", { cost: 3 });
    expect((await look(limiter)).limits).toEqual(decision.limits);
    pass(500);
    const later = await look(limiter);
    expect(later.resetAfterMs).toBe(decision.resetAfterMs - 500);
    expect((await look(limiter)).limits).toEqual(later.limits);
    // Like a denied request whose cost is above the limit.
    const denied = await limiter.consume("u", { cost: 11 });
    expect(later).toMatchObject({ remaining: denied.remaining, resetAfterMs: denied.resetAfterMs });
    pass(60_000);
    expect(await look(limiter)).toMatchObject({ remaining: 10, resetAfterMs: 0 });
  });

  test("a peek with cost 0 is allowed even if nothing is left", async () => {
    const { limiter } = start(limit);
    await limiter.consume("u", { cost: 10 });
    expect((await limiter.peek("u")).allowed).toBe(false);
    const looked = await look(limiter);
    expect(looked).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0, cost: 0 });
    expect(looked.limits).toMatchObject([{ allowed: true, remaining: 0, retryAfterMs: 0 }]);
  });

  test("a peek with cost 0 is allowed even if the limit is overdrawn", async () => {
    const { limiter } = start(limit);
    await limiter.charge("u", { cost: 13 });
    expect((await limiter.peek("u")).allowed).toBe(false);
    const looked = await look(limiter);
    expect(looked).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0 });
    expect(looked.limits).toMatchObject([{ allowed: true, remaining: 0, overdrawn: 3 }]);
  });

  test("a peek with cost 0 charges nothing, and cannot be refunded", async () => {
    const { limiter } = start(limit);
    for (let i = 0; i < 20; i += 1) await look(limiter);
    expect(await limiter.refund(await look(limiter))).toBe(false);
    expect(await limiter.reset("u")).toBe(false);
    expect(await limiter.consume("u", { cost: 10 })).toMatchObject({ allowed: true, remaining: 0 });
  });
});

test("a peek with cost 0 reports every limit, and the one with the least left binds", async () => {
  const { limiter } = start([
    gcra({ limit: 100, window: "1m" }),
    slidingLog({ limit: 4, window: "1h" }),
  ]);
  await limiter.consume("u", { cost: 4 });
  const looked = await look(limiter);
  expect(looked).toMatchObject({ allowed: true, limit: 4, remaining: 0 });
  expect(looked.limits.map(({ remaining }) => remaining)).toEqual([96, 0]);
});

test("a peek with cost -0 is one with cost 0", async () => {
  const { limiter } = start(gcra({ limit: 10, window: "10s" }));
  expect((await limiter.peek("u", { cost: -0 })).cost).toBe(0);
});

describe("a peek with cost 0 while the store is unavailable", () => {
  const unavailable = runningBy(holdStore(() => 0).store, async () => {
    throw new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "unavailable");
  });
  const limits = fixedWindow({ limit: 10, window: "1h" });
  const open = (options: Partial<LimiterOptions>) =>
    createLimiter({
      name: "api",
      limits,
      store: brandStore({ ...unavailable, owner: {} }),
      ...options,
    });

  test("without the store, a peek with cost 0 reports the local share", async () => {
    const limiter = open({ localShare: 0.5 });
    expect(await look(limiter)).toMatchObject({
      source: "local",
      degraded: true,
      limit: 5,
      remaining: 5,
    });
    await limiter.consume("u", { cost: 3 });
    expect(await look(limiter)).toMatchObject({ allowed: true, remaining: 2, cost: 0 });
    // Counted as the whole share.
    const other = open({ localShare: 0.5 });
    await other.consume("u", { cost: 8 });
    expect(await look(other)).toMatchObject({ allowed: true, remaining: 0 });
    expect((await other.consume("u")).allowed).toBe(false);
  });

  test('without the store, a peek with cost 0 follows onUnavailable "allow" and "deny"', async () => {
    expect(await look(open({ onUnavailable: "allow" }))).toMatchObject({
      allowed: true,
      limits: [],
    });
    expect(await look(open({ onUnavailable: "deny" }))).toMatchObject({
      allowed: false,
      source: "deny",
      limits: [],
      retryAfterMs: 1_000,
    });
  });
});

test("a peek with cost 0 across several hash slots sends one call for each", async () => {
  const { store, held } = holdStore((key) => (key.includes(":tenant:") ? 1 : 2));
  const limits = [
    slidingLog({ limit: 2, window: "1h" }),
    fixedWindow({ limit: 1, window: "1h", per: "tenant" }),
  ];
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
  const subject = { default: "u", tenant: "t" };
  const serve = async <T>(pending: Promise<T>): Promise<[answer: T, calls: number]> => {
    await flushMicrotasks();
    let calls = 0;
    for (let call = held.shift(); call !== undefined; call = held.shift()) {
      calls += 1;
      await call.carryOut();
    }
    return [await pending, calls];
  };
  const [decision] = await serve(limiter.consume(subject));
  const [looked, calls] = await serve(limiter.peek(subject, { cost: 0 }));
  expect(calls).toBe(2);
  expect(looked).toMatchObject({ allowed: true, cost: 0, remaining: 0, source: "store" });
  expect(looked.limits).toEqual(decision.limits);
  expect((await serve(limiter.consume(subject)))[0].allowed).toBe(false);
  expect((await serve(limiter.peek(subject, { cost: 0 })))[0].allowed).toBe(true);
});
