import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as after } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { liveMebibytes } from "../../../../../test/hostile/memory-use.ts";
import { watchUnhandled } from "../../../../../test/http/support/unhandled.ts";
import type { HeldCall } from "../../../../../test/support/held-store.ts";
import { flushMicrotasks, holdStore } from "../../../../../test/support/held-store.ts";
import { runningBy } from "../../../../../test/support/send-by.ts";
import { waitUntil } from "../../../../../test/support/wait-until.ts";
import { fixedWindow } from "../../algorithms/fixed-window.ts";
import { gcra } from "../../algorithms/gcra.ts";
import type { Decision } from "../../common/decision.ts";
import type { Policy } from "../../common/policy.ts";
import { createLimiter } from "../../limiter/create-limiter.ts";
import type { LimiterOptions } from "../../limiter/limiter.ts";
import type { CountingStore } from "../../store/store.ts";

const HOUR = gcra({ limit: 1_000, window: "1000h" });

interface Options extends Partial<Omit<LimiterOptions, "limits">> {
  readonly limits?: Policy;
}

/** A limiter on a store that answers when the test says so. */
function startLeasing(options: Options = {}) {
  const { store, held, advance } = holdStore(() => 0);
  const limiter = createLimiter({
    name: "api",
    limits: HOUR,
    store,
    storeTimeout: "1m",
    lease: { max: 100, ttl: "1m" },
    ...options,
  });
  /** The next call that reaches the store; undefined when none does. */
  const sent = async (): Promise<HeldCall | undefined> => {
    await flushMicrotasks();
    return held.shift();
  };
  /** Carries out all that reaches the store. */
  const serveAll = async (): Promise<number> => {
    let served = 0;
    for (let call = await sent(); call !== undefined; call = await sent()) {
      served += 1;
      await call.carryOut();
    }
    return served;
  };
  const consume = async (subject: string, cost = 1): Promise<Decision> => {
    const decision = limiter.consume(subject, { cost });
    await serveAll();
    return decision;
  };
  /** Asks until a lease of so many units is held. */
  const heat = async (subject: string, units = 2): Promise<void> => {
    for (;;) {
      const peeked = limiter.peek(subject, { cost: units });
      await serveAll();
      if ((await peeked).source === "lease") return;
      await consume(subject);
    }
  };
  /** Waits until a call reaches the store that no request made. */
  const arrives = (): Promise<HeldCall> => {
    return waitUntil("a call arrives", 5_000, () => held.shift());
  };
  return { limiter, store, held, sent, serveAll, consume, heat, arrives, advance };
}

describe("a subject with frequent requests", () => {
  test("the second request in quick succession leases two units, which are spent without a call", async () => {
    const { limiter, sent, consume } = startLeasing();
    expect((await consume("ann")).source).toBe("store");
    const second = limiter.consume("ann");
    const [own, lease] = [await sent(), await sent()];
    await own?.carryOut();
    expect(await second).toMatchObject({ allowed: true, source: "store", remaining: 998 });
    await lease?.carryOut();
    for (const remaining of [997, 996]) {
      const decision = await limiter.consume("ann");
      expect(decision).toMatchObject({ source: "lease", allowed: true, degraded: false });
      expect(decision).toMatchObject({ cost: 1, limit: 1_000, remaining });
    }
  });

  test("a limiter in shadow mode spends leased units, and still reports what it would deny", async () => {
    const { limiter, heat, consume } = startLeasing({ shadow: true });
    await heat("ann");
    const inShadow = { allowed: true, shadow: true };
    expect(await limiter.consume("ann")).toMatchObject({
      ...inShadow,
      source: "lease",
      wouldAllow: true,
    });
    expect(await consume("ann", 1_000)).toMatchObject({
      ...inShadow,
      source: "store",
      wouldAllow: false,
    });
  });

  test("a decision paid from a lease reports times less the time since the store's report", async () => {
    const { heat, limiter, advance } = startLeasing();
    await heat("ann");
    const before = await limiter.peek("ann");
    advance(100);
    const after = await limiter.peek("ann");
    expect(after.source).toBe("lease");
    expect(after.resetAfterMs).toBe(before.resetAfterMs - 100);
    expect(after.remaining).toBe(before.remaining);
  });

  test("the next lease is requested before the current one is spent", async () => {
    const { heat, limiter, held } = startLeasing();
    await heat("ann", 8);
    for (let i = 0; i < 8 && held.length === 0; i += 1) {
      expect((await limiter.consume("ann")).source).toBe("lease");
    }
    expect(held.map(({ name }) => name)).toEqual(["decide"]);
    expect((await limiter.consume("ann")).source).toBe("lease");
    expect(held).toHaveLength(1);
  });

  test("a cost above the leased units is decided by the store", async () => {
    const { heat, consume } = startLeasing();
    await heat("ann");
    expect((await consume("ann", 3)).source).toBe("store");
    expect((await consume("ann", 2)).source).toBe("lease");
  });

  test("leases grow to the cost of the requests", async () => {
    const { consume } = startLeasing();
    const sources: string[] = [];
    for (let i = 0; i < 20; i += 1) sources.push((await consume("ann", 3)).source);
    expect(sources.filter((source) => source === "lease").length).toBeGreaterThan(10);
  });

  test("nothing is leased close to the limit", async () => {
    const { consume } = startLeasing({ limits: fixedWindow({ limit: 20, window: "1h" }) });
    const sources: string[] = [];
    for (let i = 0; i < 22; i += 1) sources.push((await consume("ann")).source);
    expect(sources.lastIndexOf("lease")).toBeLessThan(10);
    expect(sources).toContain("lease");
    expect(sources.filter((source) => source === "deny-cache")).toHaveLength(1);
  });

  test("a peek reports the leased units and spends none", async () => {
    const { heat, limiter } = startLeasing();
    await heat("ann");
    const { remaining, source } = await limiter.peek("ann");
    expect(source).toBe("lease");
    expect(await limiter.peek("ann")).toMatchObject({ remaining });
    expect(await limiter.consume("ann")).toMatchObject({ source, remaining });
  });
});

describe("a peek with cost 0 while a lease is held", () => {
  const limits = fixedWindow({ limit: 1_000, window: "1h" });

  test("a peek with cost 0 reports the store's units plus the leased ones", async () => {
    const { heat, limiter, store, serveAll, consume } = startLeasing({ limits });
    await heat("ann", 8);
    const look = async (): Promise<Decision> => {
      const looking = limiter.peek("ann", { cost: 0 });
      await serveAll();
      return looking;
    };
    const { remaining } = await look();
    // Neither of these is paid from the lease: another process takes five, and this one more than it holds.
    const other = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
    const elsewhere = other.consume("ann", { cost: 5 });
    await serveAll();
    expect((await elsewhere).source).toBe("store");
    expect((await consume("ann", 50)).source).toBe("store");
    expect((await look()).remaining).toBe(remaining - 55);
    // What the lease pays was charged before, and is spent now.
    expect((await consume("ann")).source).toBe("lease");
    expect(await look()).toMatchObject({
      allowed: true,
      cost: 0,
      remaining: remaining - 56,
      source: "store",
    });
  });

  test("a peek with cost 0 spends no leased units and takes no lease", async () => {
    const { heat, limiter, serveAll } = startLeasing({ limits });
    await heat("ann");
    for (let i = 0; i < 20; i += 1) {
      const looking = limiter.peek("ann", { cost: 0 });
      expect(await serveAll()).toBe(1);
      await looking;
    }
    expect(await limiter.consume("ann", { cost: 2 })).toMatchObject({ source: "lease" });
  });

  test("a peek with cost 0 does not count the units of an expired lease", async () => {
    const perWindow = fixedWindow({ limit: 1_000, window: "10s", align: "clock" });
    const { limiter, store, heat, serveAll, advance } = startLeasing({ limits: perWindow });
    await heat("ann", 8);
    advance(10_000);
    const other = createLimiter({ name: "api", limits: perWindow, store, storeTimeout: "1m" });
    const elsewhere = other.consume("ann", { cost: 20 });
    const looking = limiter.peek("ann", { cost: 0 });
    await serveAll();
    expect((await elsewhere).remaining).toBe(980);
    expect((await looking).remaining).toBe(980);
  });

  test("a peek with cost 0 reports the leased units if the store does not answer", async () => {
    const { heat, limiter, held } = startLeasing({ limits, storeTimeout: "20ms" });
    await heat("ann", 8);
    const { remaining } = await limiter.peek("ann");
    const looked = await limiter.peek("ann", { cost: 0 });
    expect(looked).toMatchObject({ source: "lease", allowed: true, remaining: remaining + 1 });
    held.length = 0;
  });
});

describe("the end of a lease", () => {
  test("a lease expires its ttl after it was requested", async () => {
    const { limiter, sent, consume, advance } = startLeasing();
    await consume("ann");
    const second = limiter.consume("ann");
    await (await sent())?.carryOut();
    await second;
    const lease = await sent();
    advance(45_000);
    await lease?.carryOut();
    advance(14_999);
    expect((await limiter.consume("ann")).source).toBe("lease");
    advance(1);
    expect((await consume("ann")).source).toBe("store");
  });

  test("a lease expires with the fixed window that it was charged to", async () => {
    const { heat, consume, advance } = startLeasing({
      limits: fixedWindow({ limit: 1_000, window: 150 }),
    });
    await heat("ann");
    advance(149);
    expect((await consume("ann")).source).toBe("lease");
    advance(1);
    expect((await consume("ann")).source).toBe("store");
  });

  test("the unspent units of an expired lease are refunded", async () => {
    const { heat, limiter, arrives, serveAll, advance } = startLeasing({
      lease: { max: 100, ttl: "20ms" },
    });
    await heat("ann", 8);
    const { remaining } = await limiter.consume("ann");
    advance(20);
    const back = await arrives();
    expect(back.name).toBe("refund");
    await back.carryOut();
    // The request that peeks is not charged, and what was held is what remains in the store again.
    const peeked = limiter.peek("ann");
    await serveAll();
    expect(await peeked).toMatchObject({ source: "store", remaining: remaining - 1 });
  });

  test("a lease that expires early with its window is refunded at that time", async () => {
    const { heat, arrives, advance } = startLeasing({
      limits: [HOUR, fixedWindow({ limit: 1_000, window: 20 })],
      lease: { max: 100, ttl: "1m" },
    });
    await heat("ann");
    advance(20);
    expect((await arrives()).name).toBe("refund");
  });

  test("a lease that expires before an older one is refunded before it", async () => {
    const { consume, heat, arrives, advance } = startLeasing({
      limits: [HOUR, fixedWindow({ limit: 1_000, window: 400 })],
      lease: { max: 100, ttl: "1m" },
    });
    await consume("bob");
    advance(350);
    await heat("ann");
    await heat("bob");
    advance(50);
    expect((await arrives()).name).toBe("refund");
  });

  test("leases are taken again at once in the next window", async () => {
    const { heat, consume, advance } = startLeasing({
      limits: fixedWindow({ limit: 1_000, window: "1s" }),
      lease: { max: 100, ttl: "1m" },
    });
    await heat("ann", 8);
    for (let window = 0; window < 3; window += 1) {
      advance(1_000);
      const sources: string[] = [];
      for (let i = 0; i < 20; i += 1) sources.push((await consume("ann")).source);
      expect(sources.filter((source) => source === "lease").length).toBeGreaterThan(10);
    }
  });

  test("a peek does not report the units of an expired lease while the next lease is held", async () => {
    const { heat, limiter, held, sent, serveAll, advance } = startLeasing();
    await heat("ann", 32);
    advance(45_000);
    let last = await limiter.consume("ann");
    while (held.length === 0) last = await limiter.consume("ann");
    await serveAll();
    const { remaining } = await limiter.consume("ann");
    expect(remaining).toBe(last.remaining - 1);
    advance(18_000);
    const peeked = await limiter.peek("ann");
    expect(peeked.source).toBe("lease");
    expect(peeked.remaining).toBeLessThan(remaining - 1);
    expect((await sent())?.name).toBe("refund");
    expect(await limiter.consume("ann")).toMatchObject({ remaining: peeked.remaining });
  });

  test("a decision does not report the units of an expired lease while the next lease pays", async () => {
    const { heat, limiter, held, sent, serveAll, advance } = startLeasing();
    await heat("ann", 32);
    advance(45_000);
    while (held.length === 0) await limiter.consume("ann");
    await serveAll();
    const { remaining } = await limiter.consume("ann");
    advance(18_000);
    const paid = await limiter.consume("ann");
    expect(paid.source).toBe("lease");
    expect(paid.remaining).toBeLessThan(remaining - 1);
    expect((await sent())?.name).toBe("refund");
  });

  test("the lease of the least recently used subject is refunded when there are too many subjects", async () => {
    const { heat, consume, held, serveAll, limiter } = startLeasing();
    await heat("ann");
    const others = Array.from({ length: 1_000 }, (_, i) => limiter.consume(`other ${i}`));
    await flushMicrotasks();
    expect(held.filter(({ name }) => name === "refund")).toHaveLength(1);
    await serveAll();
    await Promise.all(others);
    expect(await consume("ann")).toMatchObject({ source: "store", remaining: 997 });
  });

  test("close refunds all leases, also one that is still being requested, and waits for the refunds", async () => {
    const { heat, consume, limiter, sent, held } = startLeasing();
    await heat("ann");
    await consume("bob");
    const second = limiter.consume("bob");
    await (await sent())?.carryOut();
    await second;
    const asked = await sent();
    let isClosed = false;
    const closing = limiter.close().then(() => {
      isClosed = true;
    });
    const back = await sent();
    expect(back?.name).toBe("refund");
    await back?.carryOut();
    await flushMicrotasks();
    expect(isClosed).toBe(false);
    await asked?.carryOut();
    expect(held.map(({ name }) => name)).toEqual(["refund"]);
    await held.shift()?.carryOut();
    await closing;
  });
});

describe("refunding a decision that a lease paid", () => {
  test("a refund returns the units to the lease while it is held", async () => {
    const { heat, limiter, sent } = startLeasing();
    await heat("ann");
    const decision = await limiter.consume("ann");
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect(await sent()).toBeUndefined();
    expect((await limiter.consume("ann")).source).toBe("lease");
    expect((await limiter.consume("ann")).source).toBe("lease");
  });

  test("a refund after the lease has ended goes to the store, once", async () => {
    const { heat, limiter, consume, serveAll, advance } = startLeasing();
    await heat("ann");
    const decision = await limiter.consume("ann");
    await limiter.consume("ann");
    advance(60_000);
    const { remaining } = await consume("ann");
    const refunded = limiter.refund(decision);
    expect(await serveAll()).toBe(1);
    expect(await refunded).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect((await consume("ann")).remaining).toBe(remaining);
  });

  test("a refund returns the charged units even if the decision's cost was changed", async () => {
    const { heat, limiter, held } = startLeasing();
    await heat("ann");
    const decision = await limiter.consume("ann");
    Object.assign(decision, { cost: 5 });
    expect(await limiter.refund(decision)).toBe(true);
    expect((await limiter.consume("ann", { cost: 2 })).source).toBe("lease");
    void limiter.consume("ann");
    await flushMicrotasks();
    // The next lease, and the request that no lease pays any more.
    expect(held).toHaveLength(2);
  });
});

describe("a reset while leases are held", () => {
  test("a reset ends the lease of its subject", async () => {
    const { heat, limiter, consume, serveAll } = startLeasing();
    await heat("ann");
    const reset = limiter.reset("ann");
    await serveAll();
    expect(await reset).toBe(true);
    expect(await consume("ann")).toMatchObject({ source: "store", remaining: 999 });
  });

  test("a reset ends leases that are requested before or during it", async () => {
    const { limiter, sent, serveAll, consume } = startLeasing();
    await consume("ann");
    void limiter.consume("ann");
    await (await sent())?.carryOut();
    const before = await sent();
    await before?.execute();
    const reset = limiter.reset("ann");
    const resetting = await sent();
    expect(resetting?.name).toBe("reset");
    await before?.deliver();
    await consume("ann");
    await consume("ann");
    await resetting?.carryOut();
    await serveAll();
    expect(await reset).toBe(true);
    expect((await consume("ann")).source).toBe("store");
  });
});

test("a reset ends the leases of every limiter in the process with the same counters", async () => {
  const { heat, limiter, store, consume, serveAll } = startLeasing();
  const again = createLimiter({ name: "api", limits: HOUR, store });
  const extended = createLimiter({
    name: "more",
    limits: fixedWindow({ limit: 5, window: "1h" }),
    extends: again,
  });
  for (const { reset } of [again, extended]) {
    await heat("ann");
    await heat("bob");
    const resetting = reset("ann");
    await serveAll();
    expect(await resetting).toBe(true);
    expect(await consume("ann")).toMatchObject({ source: "store", remaining: 999 });
    expect((await limiter.consume("bob")).source).toBe("lease");
  }
});

test("a reset does not end the leases of other limiters", async () => {
  const { heat, limiter, store, serveAll } = startLeasing();
  const other = createLimiter({ name: "other", limits: HOUR, store });
  await heat("ann");
  const resetting = other.reset("ann");
  await serveAll();
  await resetting;
  expect((await limiter.consume("ann")).source).toBe("lease");
});

test("a denied request is admitted after its retryAfterMs, although units are leased", async () => {
  const { consume, advance } = startLeasing({
    limits: gcra({ limit: 100, window: "100s" }),
    lease: { max: 100, ttl: "1m" },
  });
  await consume("ann", 60);
  const denied = await consume("ann", 50);
  expect(denied).toMatchObject({ allowed: false, retryAfterMs: 10_000 });
  advance(denied.retryAfterMs);
  expect((await consume("ann", 50)).allowed).toBe(true);
});

test("long subjects are not kept in memory with their leases", async () => {
  const { consume } = startLeasing({ lease: { max: 100, ttl: "1m" } });
  const before = liveMebibytes();
  for (let i = 0; i < 100; i += 1) await consume(`${"a".repeat(2 ** 19)}${i}`);
  // Fifty mebibytes of subjects have gone through.
  expect(liveMebibytes() - before).toBeLessThan(10);
  await consume("ann");
});

test("a long subject has its own leases", async () => {
  const { heat, limiter, consume, serveAll } = startLeasing();
  const long = "a".repeat(1_000);
  await heat(long);
  expect((await limiter.consume(long)).source).toBe("lease");
  expect((await consume(`${long}b`)).source).toBe("store");
  const resetting = limiter.reset(long);
  await serveAll();
  expect(await resetting).toBe(true);
  expect((await consume(long)).source).toBe("store");
});

describe("leases while the store does not answer", () => {
  test("leased units are spent while the store is unavailable", async () => {
    const { heat, limiter } = startLeasing({ storeTimeout: 20, onUnavailable: "deny" });
    await heat("ann");
    expect((await limiter.consume("bob")).source).toBe("deny");
    expect(await limiter.consume("ann")).toMatchObject({ source: "lease", degraded: false });
    expect((await limiter.consume("ann")).source).toBe("lease");
    expect((await limiter.consume("ann")).source).toBe("deny");
    await limiter.close();
  });

  test("a lease granted after the timeout is refunded unspent", async () => {
    const { limiter, sent, consume, held } = startLeasing({ storeTimeout: 20 });
    await consume("ann");
    const second = limiter.consume("ann");
    const [, lease] = [await sent(), await sent()];
    await lease?.execute();
    expect((await second).source).toBe("local");
    held.length = 0;
    await lease?.deliver();
    const back = held.find(({ name }) => name === "refund");
    expect(back).toBeDefined();
    expect((await limiter.consume("ann")).source).toBe("local");
    await back?.carryOut();
    await limiter.close();
  });
});

describe("leases with a clock that throws", () => {
  /** As a clock of the application's own may. */
  const breakClock = (store: CountingStore): void => {
    const now = () => {
      throw new Error("no time");
    };
    Object.assign(store, { now });
  };

  test("a throwing clock does not end the process when expired leases are checked", async () => {
    const settled = watchUnhandled();
    const { heat, limiter, store } = startLeasing({ lease: { max: 9, ttl: 20 } });
    await heat("ann");
    breakClock(store);
    await after(40);
    await settled();
    await expect(limiter.consume("ann")).rejects.toThrow("no time");
    await limiter.close();
  });

  test("a throwing clock does not end the process when a late lease is refunded", async () => {
    const settled = watchUnhandled();
    const { limiter, store, sent, consume, held } = startLeasing({ storeTimeout: 20 });
    await consume("ann");
    const second = limiter.consume("ann");
    const [, lease] = [await sent(), await sent()];
    await lease?.execute();
    await second;
    held.length = 0;
    await lease?.deliver();
    breakClock(store);
    const refund = held.find(({ name }) => name === "refund");
    expect(refund).toBeDefined();
    await refund?.carryOut();
    await settled();
    await expect(limiter.consume("ann")).rejects.toThrow("no time");
    await limiter.close();
  });
});

test("all subjects of a global limit share one lease", async () => {
  const { heat, limiter } = startLeasing({
    limits: gcra({ limit: 1_000, window: "1000h", per: "global" }),
  });
  await heat("ann");
  const { remaining } = await limiter.consume("bob");
  expect(await limiter.consume({ global: "*" })).toMatchObject({
    source: "lease",
    remaining: remaining - 1,
  });
});

test("a subject uses the same lease whether or not it names its dimension", async () => {
  const { heat, limiter } = startLeasing();
  await heat("ann");
  expect((await limiter.consume({ default: "ann" })).source).toBe("lease");
  expect((await limiter.consume("ann")).source).toBe("lease");
});

test.each([
  ["", undefined, "HEADGATE_EMPTY_KEY"],
  [7, undefined, "HEADGATE_INVALID_KEY"],
  ["ann", { cost: -1 }, "HEADGATE_INVALID_COST"],
  [{ other: "ann" }, undefined, "HEADGATE_INVALID_OPTION"],
])("a limiter with leases rejects invalid arguments: %j %j", async (subject, options, code) => {
  const { heat, limiter, serveAll } = startLeasing();
  await heat("ann");
  await expect(limiter.consume(subject as string, options)).rejects.toMatchObject({ code });
  const closing = limiter.close();
  await serveAll();
  await closing;
  await expect(limiter.consume("ann")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
});

test("the check for expired leases does not run in the async context of a request", async () => {
  const requests = new AsyncLocalStorage<string>();
  const { store, held, advance } = holdStore(() => 0);
  const askers: (string | undefined)[] = [];
  const run: CountingStore["run"] = (operation, call) => {
    if (operation.name === "refund") askers.push(requests.getStore());
    return store.run(operation, call);
  };
  const limiter = createLimiter({
    name: "api",
    limits: HOUR,
    store: runningBy(store, run),
    lease: { max: 9, ttl: 20 },
  });
  for (let i = 0; i < 2; i += 1) {
    const decision = requests.run("request", () => limiter.consume("ann"));
    for (await flushMicrotasks(); held.length > 0; await flushMicrotasks())
      await held.shift()?.carryOut();
    await decision;
  }
  advance(20);
  await waitUntil("the lease is given back", 5_000, () => held.shift());
  expect(askers).toEqual([undefined]);
});

test("taking a lease drops the cached denials of its subject", async () => {
  const { limiter, sent, consume } = startLeasing({
    limits: fixedWindow({ limit: 100, window: "1h" }),
  });
  await consume("ann");
  void limiter.consume("ann");
  const [own, lease] = [await sent(), await sent()];
  await own?.carryOut();
  expect(await consume("ann", 100)).toMatchObject({ allowed: false, source: "store" });
  expect(await consume("ann", 100)).toMatchObject({ allowed: false, source: "deny-cache" });
  await lease?.carryOut();
  expect(await consume("ann", 100)).toMatchObject({ allowed: false, source: "store" });
});

describe("a manual block while leases are held", () => {
  test("a manual block ends the leases of its subject in this process and no others", async () => {
    const { limiter, serveAll, heat, consume } = startLeasing();
    await heat("ann", 8);
    await heat("bob");
    const blocking = limiter.block("ann", "1h");
    await serveAll();
    await blocking;
    expect(await consume("ann")).toMatchObject({ blocked: true, source: "store" });
    expect(await consume("bob")).toMatchObject({ allowed: true, source: "lease" });
  });

  test("a manual block ends the leases in another process at its next call to the store", async () => {
    const { limiter, store, serveAll, heat, consume } = startLeasing();
    await heat("ann", 8);
    // Of another process, which cannot tell this one.
    const elsewhere = { ...store, owner: {} };
    const other = createLimiter({
      name: "api",
      limits: HOUR,
      store: elsewhere,
      storeTimeout: "1m",
    });
    const blocking = other.block("ann", "1h");
    await serveAll();
    await blocking;
    expect(await consume("ann")).toMatchObject({ allowed: true, source: "lease" });
    // More than is held has to be asked for.
    expect(await consume("ann", 100)).toMatchObject({ blocked: true, source: "store" });
    expect(await consume("ann")).toMatchObject({ blocked: true, source: "store" });
    const looked = limiter.peek("ann", { cost: 0 });
    await serveAll();
    // All that was held is given back.
    const { remaining, limit } = await looked;
    expect(limit - remaining).toBeGreaterThan(0);
    expect(limit - remaining).toBeLessThan(20);
  });
});
