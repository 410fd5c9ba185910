import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  carryOutAll,
  flushMicrotasks,
  holdStore,
  resultOf,
} from "../../../../test/support/held-store.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { CHANNELS } from "../common/publish.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";
import type { PublishedDecision } from "./published-decision.ts";

const hourly = fixedWindow({ limit: 10, window: "1h" });

function open(limits: Policy, options: Partial<LimiterOptions> = {}) {
  let now = 1_800_000_000_000;
  const store = memoryStore({ clock: () => now });
  const limiter = createLimiter({ name: "api", limits, store, ...options }) as Limiter;
  onTestFinished(() => limiter.close());
  return {
    limiter,
    pass(ms: number) {
      now += ms;
    },
  };
}

describe("consume with upTo in memory", () => {
  test("a request for up to n units gets n, then what is left, then a denial that charges nothing", async () => {
    const { limiter } = open(hourly);
    expect(await limiter.consume("u", { upTo: 7 })).toMatchObject({
      allowed: true,
      granted: 7,
      cost: 7,
      remaining: 3,
    });
    expect(await limiter.consume("u", { upTo: 7 })).toMatchObject({
      allowed: true,
      granted: 3,
      cost: 3,
      remaining: 0,
    });
    expect(await limiter.consume("u", { upTo: 7 })).toMatchObject({
      allowed: false,
      granted: 0,
      cost: 1,
      retryAfterMs: 3_600_000,
    });
  });

  test("upTo may be more than the limit can ever grant, and a limit of 0 grants nothing", async () => {
    const { limiter } = open(hourly);
    expect(await limiter.consume("u", { upTo: Number.MAX_SAFE_INTEGER })).toMatchObject({
      granted: 10,
    });
    const none = open(fixedWindow({ limit: 0, window: "1h" })).limiter;
    expect(await none.consume("u", { upTo: 5 })).toMatchObject({
      allowed: false,
      granted: 0,
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
  });

  test.each([
    gcra({ limit: 10, window: "10s" }),
    tokenBucket({ capacity: 10, refill: 1, every: "1s" }),
  ])("a fraction of a unit of $algorithm is never granted, and is not lost", async (limit) => {
    const { limiter, pass } = open(limit);
    await limiter.consume("u", { upTo: 10 });
    pass(2_999);
    expect(await limiter.consume("u", { upTo: 10 })).toMatchObject({ granted: 2 });
    expect(await limiter.consume("u", { upTo: 10 })).toMatchObject({ granted: 0, retryAfterMs: 1 });
    pass(1);
    expect(await limiter.consume("u", { upTo: 10 })).toMatchObject({ granted: 1 });
  });

  test("the wait of a denied request is exact: a millisecond less is denied", async () => {
    const { limiter, pass } = open(gcra({ limit: 10, window: "10s" }));
    await limiter.consume("u", { upTo: 10 });
    const { retryAfterMs } = await limiter.consume("u", { upTo: 10 });
    pass(retryAfterMs - 1);
    expect(await limiter.consume("u", { upTo: 10 })).toMatchObject({ granted: 0 });
    pass(1);
    expect(await limiter.consume("u", { upTo: 10 })).toMatchObject({ granted: 1 });
  });

  test("peek says what would be granted, and charges nothing", async () => {
    const { limiter } = open(hourly);
    for (let i = 0; i < 2; i += 1) {
      expect(await limiter.peek("u", { upTo: 4 })).toMatchObject({ granted: 4, remaining: 6 });
    }
    expect(await limiter.peek("u", { upTo: 40 })).toMatchObject({ granted: 10, remaining: 0 });
  });

  test("the tightest of several limits decides, and every limit is charged as much", async () => {
    const { limiter } = open([
      fixedWindow({ limit: 100, window: "1h", name: "wide" }),
      fixedWindow({ limit: 8, window: "1m", name: "tight" }),
    ]);
    const decision = await limiter.consume("u", { upTo: 50 });
    expect(decision).toMatchObject({ granted: 8 });
    expect(decision.limits.map(({ remaining }) => remaining)).toEqual([92, 0]);
  });

  test("a concurrency limit gives one slot, whatever the units, and denies when none is free", async () => {
    const { limiter } = open([hourly, concurrency({ limit: 2, ttl: "1m", name: "slots" })]);
    const first = await limiter.consume("u", { upTo: 3 });
    expect(first.limits.map(({ remaining }) => remaining)).toEqual([7, 1]);
    await limiter.consume("u", { upTo: 3 });
    expect(await limiter.consume("u", { upTo: 3 })).toMatchObject({ allowed: false, granted: 0 });
    await limiter.release(first);
    expect(await limiter.consume("u", { upTo: 9 })).toMatchObject({ granted: 4 });
  });

  test("settle and refund take the granted units as the charge", async () => {
    const { limiter } = open(hourly);
    const decision = await limiter.consume("u", { upTo: 40 });
    expect(await limiter.settle(decision, 6)).toEqual({ charged: 6, overflow: 0, degraded: false });
    expect((await limiter.peek("u", { cost: 0 })).remaining).toBe(4);
    const rest = await limiter.consume("u", { upTo: 40 });
    expect(rest.granted).toBe(4);
    expect(await limiter.refund(rest)).toBe(true);
    expect((await limiter.peek("u", { cost: 0 })).remaining).toBe(4);
    const denied = open(fixedWindow({ limit: 0, window: "1h" })).limiter;
    const nothing = await denied.consume("u", { upTo: 3 });
    expect(await denied.settle(nothing, 3)).toMatchObject({ charged: 0 });
  });

  test("a denial sets a block, and a request that is granted in part does not", async () => {
    const { limiter } = open(fixedWindow({ limit: 10, window: "1h", block: "1d" }));
    expect(await limiter.consume("u", { upTo: 30 })).toMatchObject({ granted: 10, blocked: false });
    expect(await limiter.consume("u", { upTo: 30 })).toMatchObject({ granted: 0, blocked: true });
    expect(await limiter.consume("u", { upTo: 30 })).toMatchObject({
      granted: 0,
      retryAfterMs: 86_400_000,
    });
  });

  test("shadow mode withholds nothing, and counts what would have been granted", async () => {
    const { limiter } = open(hourly, { shadow: true });
    await limiter.consume("u", { upTo: 7 });
    expect(await limiter.consume("u", { upTo: 7 })).toMatchObject({
      allowed: true,
      wouldAllow: true,
      granted: 7,
      cost: 3,
    });
    expect(await limiter.consume("u", { upTo: 7 })).toMatchObject({
      allowed: true,
      wouldAllow: false,
      granted: 7,
      remaining: 0,
    });
  });

  test("limits of the call decide how much is granted", async () => {
    const { limiter } = open(hourly);
    const limits = fixedWindow({ limit: 30, window: "1h" });
    expect(await limiter.consume("u", { upTo: 50, limits })).toMatchObject({ granted: 30 });
    expect(await limiter.consume("u", { upTo: 50 })).toMatchObject({ allowed: false });
  });

  test("the published decision has the granted units, and other decisions have no such field", async () => {
    const { limiter } = open(hourly);
    const published: PublishedDecision[] = [];
    const listen = (message: unknown) => published.push(message as PublishedDecision);
    subscribe(CHANNELS.decision, listen);
    onTestFinished(() => void unsubscribe(CHANNELS.decision, listen));
    await limiter.consume("u", { upTo: 3 });
    const plain = await limiter.consume("u");
    expect(published[0]?.decision).toMatchObject({ granted: 3 });
    expect(JSON.parse(JSON.stringify(published[0]?.decision))).toMatchObject({
      granted: 3,
      cost: 3,
    });
    expect("granted" in plain).toBe(false);
  });
});

describe("calls that cannot take upTo", () => {
  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "5", null, {}])(
    "an upTo of %s is an error",
    async (upTo) => {
      const { limiter } = open(hourly);
      await expect(limiter.consume("u", { upTo } as never)).rejects.toMatchObject({
        code: "HEADGATE_INVALID_COST",
        message: expect.stringContaining("upTo must be a whole number of units from 1 to 2^53 - 1"),
      });
    },
  );

  test("cost and upTo together are an error", async () => {
    const { limiter } = open(hourly);
    // @ts-expect-error: cost cannot be used with upTo
    await expect(limiter.consume("u", { upTo: 5, cost: 5 })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("leave one of them out"),
    });
  });

  test("a limiter with lease rejects upTo", async () => {
    const { store } = holdStore(() => 0);
    const limiter = createLimiter({
      name: "api",
      limits: hourly,
      store,
      lease: { max: 10, ttl: "1s" },
    });
    onTestFinished(() => limiter.close());
    await expect(limiter.consume("u", { upTo: 5 })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("upTo cannot be used with lease"),
    });
  });

  test("wait, run and charge reject upTo", async () => {
    const { limiter } = open(hourly);
    const error = {
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining('unknown option "upTo"'),
    };
    // @ts-expect-error: wait takes no upTo
    await expect(limiter.wait("u", { upTo: 5 })).rejects.toMatchObject(error);
    // @ts-expect-error: run takes no upTo
    await expect(limiter.run("u", () => {}, { upTo: 5 })).rejects.toMatchObject(error);
    // @ts-expect-error: charge takes no upTo
    await expect(limiter.charge("u", { upTo: 5 })).rejects.toMatchObject(error);
  });
});

describe("upTo and the deny cache", () => {
  function startServer() {
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({ name: "api", limits: hourly, store, storeTimeout: "1m" });
    return { limiter, held, decided: <T>(pending: Promise<T>) => resultOf(held, pending) };
  }

  test("a cached denial of one unit denies a request for up to n, and the other way round", async () => {
    const { limiter, decided } = startServer();
    await decided(limiter.consume("u", { upTo: 10 }));
    expect(await decided(limiter.consume("u"))).toMatchObject({ source: "store", allowed: false });
    expect(await limiter.consume("u", { upTo: 5 })).toMatchObject({
      source: "deny-cache",
      granted: 0,
      cost: 1,
    });
    await decided(limiter.consume("v", { upTo: 10 }));
    const denied = await decided(limiter.consume("v", { upTo: 8 }));
    expect(denied).toMatchObject({ source: "store", granted: 0 });
    expect(await limiter.consume("v")).toMatchObject({ source: "deny-cache", allowed: false });
    expect(await limiter.consume("v", { upTo: 3 })).toMatchObject({ source: "deny-cache" });
  });

  test("a cached denial of ten units does not deny a request for up to ten", async () => {
    const { limiter, decided } = startServer();
    await decided(limiter.consume("u", { cost: 4 }));
    const denied = await decided(limiter.consume("u", { cost: 10 }));
    expect(denied.allowed).toBe(false);
    expect((await limiter.consume("u", { cost: 10 })).source).toBe("deny-cache");
    const decision = await decided(limiter.consume("u", { upTo: 10 }));
    expect(decision).toMatchObject({ source: "store", granted: 6 });
  });
});

describe("upTo while the store is unavailable", () => {
  async function degraded(options: Partial<LimiterOptions>) {
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({ name: "api", limits: hourly, store, ...options });
    const decide = async (upTo: number) => {
      const pending = limiter.consume("u", { upTo });
      await flushMicrotasks();
      await held.shift()?.refuse(new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "refused"));
      return pending;
    };
    return { limiter, decide };
  }

  test("with onUnavailable local, this process grants from its share", async () => {
    const { limiter, decide } = await degraded({ localShare: 0.5 });
    expect(await decide(4)).toMatchObject({ source: "local", degraded: true, granted: 4 });
    const rest = await decide(10);
    expect(rest).toMatchObject({ source: "local", granted: 1, cost: 1 });
    expect(await decide(4)).toMatchObject({ source: "local", granted: 0, allowed: false });
    expect(await limiter.refund(rest)).toBe(true);
    expect(await decide(4)).toMatchObject({ granted: 1 });
  });

  test("with onUnavailable allow, it grants everything, and with deny nothing", async () => {
    const allowing = await degraded({ onUnavailable: "allow" });
    expect(await allowing.decide(40)).toMatchObject({ source: "allow", granted: 40, cost: 40 });
    const denying = await degraded({ onUnavailable: "deny" });
    expect(await denying.decide(40)).toMatchObject({ source: "deny", granted: 0, allowed: false });
  });
});

describe("upTo across two hash slots", () => {
  const TIMEOUT_MS = 100;
  const limits = [
    fixedWindow({ limit: 20, window: "1h", name: "user" }),
    fixedWindow({ limit: 10, window: "1h", name: "tenant", per: "tenant" }),
  ];
  const subject = { default: "u", tenant: "t" };

  function startCluster(storeTimeout: LimiterOptions["storeTimeout"] = "1m") {
    const { store, held } = holdStore((key) => (key.includes(":tenant:") ? 1 : 2));
    const limiter = createLimiter({
      name: "api",
      limits,
      store,
      storeTimeout,
      denyCache: false,
    });
    return { limiter, held, decided: <T>(pending: Promise<T>) => resultOf(held, pending) };
  }

  /** Begins a call for 8 units. Between its rounds, another user of the tenant takes some, and then both hash slots are charged. */
  async function raceFor(
    { limiter, held, decided }: ReturnType<typeof startCluster>,
    cost: number,
  ) {
    const pending = limiter.consume(subject, { upTo: 8 });
    await flushMicrotasks();
    for (const check of held.splice(0)) await check.carryOut();
    const charges = held.splice(0);
    expect(charges.map(({ name }) => name)).toEqual(["decide-up-to", "decide-up-to"]);
    const other = await decided(limiter.consume({ default: "v", tenant: "t" }, { cost }));
    expect(other.allowed).toBe(true);
    for (const charge of charges) await charge.carryOut();
    return { pending };
  }

  test("the tightest hash slot decides, and both are charged as much", async () => {
    const { limiter, decided } = startCluster();
    const peeked = await decided(limiter.peek(subject, { upTo: 50 }));
    const decision = await decided(limiter.consume(subject, { upTo: 50 }));
    for (const each of [peeked, decision]) {
      expect(each).toMatchObject({ granted: 10, allowed: true });
      expect(each.limits.map(({ remaining }) => remaining)).toEqual([10, 0]);
    }
    expect(await decided(limiter.consume(subject, { upTo: 50 }))).toMatchObject({ granted: 0 });
    expect(await decided(limiter.settle(decision, 3))).toMatchObject({ charged: 3 });
    const { limits: left } = await decided(limiter.peek(subject, { cost: 0 }));
    expect(left.map(({ remaining }) => remaining)).toEqual([17, 7]);
  });

  test("if another request takes units between the rounds, the hash slots that took more refund the difference", async () => {
    const cluster = startCluster();
    const { limiter, held, decided } = cluster;
    // Both hash slots say that 8 are left. Before they are charged, another user of the tenant takes 5 of 10.
    const { pending } = await raceFor(cluster, 5);
    expect(held.map(({ name }) => name)).toEqual(["refund"]);
    await carryOutAll(held);
    const decision = await pending;
    expect(decision).toMatchObject({ granted: 5, cost: 5, allowed: true });
    expect(decision.limits.map(({ remaining }) => remaining)).toEqual([15, 0]);
    const { limits: left } = await decided(limiter.peek(subject, { cost: 0 }));
    expect(left.map(({ remaining }) => remaining)).toEqual([15, 0]);
    expect(await decided(limiter.refund(decision))).toBe(true);
    const { limits: refunded } = await decided(limiter.peek(subject, { cost: 0 }));
    expect(refunded.map(({ remaining }) => remaining)).toEqual([20, 5]);
  });

  test("if the refund of the difference fails, the decision reports the units that stay charged", async () => {
    const cluster = startCluster();
    const { held } = cluster;
    const { pending } = await raceFor(cluster, 5);
    await held.shift()?.refuse(new Error("gone"));
    const decision = await pending;
    expect(decision).toMatchObject({ granted: 5, allowed: true });
    expect(decision.limits.map(({ remaining }) => remaining)).toEqual([12, 0]);
  });

  test("if the time is over while a hash slot refunds the difference, the decision stands, and so does its charge", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const cluster = startCluster(TIMEOUT_MS);
    const { limiter, held, decided } = cluster;
    const { pending } = await raceFor(cluster, 5);
    expect(held.map(({ name }) => name)).toEqual(["refund"]);
    await vi.advanceTimersByTimeAsync(3 * TIMEOUT_MS);
    const decision = await pending;
    expect(decision).toMatchObject({ granted: 5, source: "store" });
    // From now on the servers answer in time, and so do the probes.
    for (let ms = 0; ms < 20 * TIMEOUT_MS; ms += TIMEOUT_MS / 2) {
      await carryOutAll(held);
      await vi.advanceTimersByTimeAsync(TIMEOUT_MS / 2);
    }
    expect(await decided(limiter.refund(decision))).toBe(true);
    const { limits: left } = await decided(limiter.peek(subject, { cost: 0 }));
    expect(left.map(({ remaining }) => remaining)).toEqual([20, 5]);
  });

  test("if another request takes everything between the rounds, nothing stays charged", async () => {
    const cluster = startCluster();
    const { limiter, held, decided } = cluster;
    const { pending } = await raceFor(cluster, 10);
    await carryOutAll(held);
    expect(await pending).toMatchObject({ granted: 0, allowed: false });
    const { limits: left } = await decided(limiter.peek(subject, { cost: 0 }));
    expect(left.map(({ remaining }) => remaining)).toEqual([20, 0]);
  });
});
