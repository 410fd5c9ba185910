import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as after } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { liveMebibytes } from "../../../../../test/hostile/memory-use.ts";
import { watchUnhandled } from "../../../../../test/http/support/unhandled.ts";
import type { HeldCall } from "../../../../../test/support/held-store.ts";
import { holdStore, letRun } from "../../../../../test/support/held-store.ts";
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
  const { store, held, pass } = holdStore(() => 0);
  const limiter = createLimiter({
    name: "api",
    limits: HOUR,
    store,
    storeTimeout: "1m",
    lease: { max: 100, ttl: "200ms" },
    ...options,
  });
  /** The next call that reaches the store; undefined when none does. */
  const sent = async (): Promise<HeldCall | undefined> => {
    await letRun();
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
  return { limiter, store, held, sent, serveAll, consume, heat, arrives, pass };
}

describe("a subject that is asked for again at once", () => {
  test("asks for two units behind its own request, and spends them without a call", async () => {
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

  test("in shadow spends what is leased, and says what the limit would deny", async () => {
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

  test("is told times that have passed", async () => {
    const { heat, limiter, pass } = startLeasing();
    await heat("ann");
    const before = await limiter.peek("ann");
    pass(100);
    const after = await limiter.peek("ann");
    expect(after.source).toBe("lease");
    expect(after.resetAfterMs).toBe(before.resetAfterMs - 100);
    expect(after.remaining).toBe(before.remaining);
  });

  test("asks for the next lease before this one is spent", async () => {
    const { heat, limiter, held } = startLeasing();
    await heat("ann", 8);
    for (let i = 0; i < 8 && held.length === 0; i += 1) {
      expect((await limiter.consume("ann")).source).toBe("lease");
    }
    expect(held.map(({ name }) => name)).toEqual(["decide"]);
    expect((await limiter.consume("ann")).source).toBe("lease");
    expect(held).toHaveLength(1);
  });

  test("asks the store for a cost that its lease does not cover", async () => {
    const { heat, consume } = startLeasing();
    await heat("ann");
    expect((await consume("ann", 3)).source).toBe("store");
    expect((await consume("ann", 2)).source).toBe("lease");
  });

  test("has leases that pay, however much each request costs", async () => {
    const { consume } = startLeasing();
    const sources: string[] = [];
    for (let i = 0; i < 20; i += 1) sources.push((await consume("ann", 3)).source);
    expect(sources.filter((source) => source === "lease").length).toBeGreaterThan(10);
  });

  test("has no lease near its limit", async () => {
    const { consume } = startLeasing({ limits: fixedWindow({ limit: 20, window: "1h" }) });
    const sources: string[] = [];
    for (let i = 0; i < 22; i += 1) sources.push((await consume("ann")).source);
    expect(sources.lastIndexOf("lease")).toBeLessThan(10);
    expect(sources).toContain("lease");
    expect(sources.filter((source) => source === "deny-cache")).toHaveLength(1);
  });

  test("peeks into its lease, and spends nothing", async () => {
    const { heat, limiter } = startLeasing();
    await heat("ann");
    const { remaining, source } = await limiter.peek("ann");
    expect(source).toBe("lease");
    expect(await limiter.peek("ann")).toMatchObject({ remaining });
    expect(await limiter.consume("ann")).toMatchObject({ source, remaining });
  });
});

describe("a peek of nothing beside a lease", () => {
  const limits = fixedWindow({ limit: 1_000, window: "1h" });

  test("reports what is left of all, though the lease has not heard of it", async () => {
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

  test("spends nothing of it, and takes no lease", async () => {
    const { heat, limiter, serveAll } = startLeasing({ limits });
    await heat("ann");
    for (let i = 0; i < 20; i += 1) {
      const looking = limiter.peek("ann", { cost: 0 });
      expect(await serveAll()).toBe(1);
      await looking;
    }
    expect(await limiter.consume("ann", { cost: 2 })).toMatchObject({ source: "lease" });
  });

  test("does not count what a lease held that is over", async () => {
    const perWindow = fixedWindow({ limit: 1_000, window: "10s", align: "clock" });
    const { limiter, store, heat, serveAll, pass } = startLeasing({ limits: perWindow });
    await heat("ann", 8);
    pass(10_000);
    const other = createLimiter({ name: "api", limits: perWindow, store, storeTimeout: "1m" });
    const elsewhere = other.consume("ann", { cost: 20 });
    const looking = limiter.peek("ann", { cost: 0 });
    await serveAll();
    expect((await elsewhere).remaining).toBe(980);
    expect((await looking).remaining).toBe(980);
  });

  test("reports the lease where the store does not answer", async () => {
    const { heat, limiter, held } = startLeasing({ limits, storeTimeout: "20ms" });
    await heat("ann", 8);
    const { remaining } = await limiter.peek("ann");
    const looked = await limiter.peek("ann", { cost: 0 });
    expect(looked).toMatchObject({ source: "lease", allowed: true, remaining: remaining + 1 });
    held.length = 0;
  });
});

describe("a lease ends", () => {
  test("when its time is over that counts from before it was asked for", async () => {
    const { limiter, sent, consume, pass } = startLeasing();
    await consume("ann");
    const second = limiter.consume("ann");
    await (await sent())?.carryOut();
    await second;
    const lease = await sent();
    pass(150);
    await lease?.carryOut();
    pass(49);
    expect((await limiter.consume("ann")).source).toBe("lease");
    pass(1);
    expect((await consume("ann")).source).toBe("store");
  });

  test("with the fixed window that it was charged to, at most", async () => {
    const { heat, consume, pass } = startLeasing({
      limits: fixedWindow({ limit: 1_000, window: 150 }),
    });
    await heat("ann");
    pass(149);
    expect((await consume("ann")).source).toBe("lease");
    pass(1);
    expect((await consume("ann")).source).toBe("store");
  });

  test("and gives back what is left", async () => {
    const { heat, limiter, arrives, serveAll, pass } = startLeasing({
      lease: { max: 100, ttl: "20ms" },
    });
    await heat("ann", 8);
    const { remaining } = await limiter.consume("ann");
    pass(20);
    const back = await arrives();
    expect(back.name).toBe("refund");
    await back.carryOut();
    // The request that peeks is not charged, and what was held is what remains in the store again.
    const peeked = limiter.peek("ann");
    await serveAll();
    expect(await peeked).toMatchObject({ source: "store", remaining: remaining - 1 });
  });

  test("early, with its window, and is given back then", async () => {
    const { heat, arrives, pass } = startLeasing({
      limits: [HOUR, fixedWindow({ limit: 1_000, window: 20 })],
      lease: { max: 100, ttl: "1m" },
    });
    await heat("ann");
    pass(20);
    expect((await arrives()).name).toBe("refund");
  });

  test("before one that was taken earlier, and is given back before it", async () => {
    const { consume, heat, arrives, pass } = startLeasing({
      limits: [HOUR, fixedWindow({ limit: 1_000, window: 400 })],
      lease: { max: 100, ttl: "1m" },
    });
    await consume("bob");
    pass(350);
    await heat("ann");
    await heat("bob");
    pass(50);
    expect((await arrives()).name).toBe("refund");
  });

  test("and the next window has leases at once", async () => {
    const { heat, consume, pass } = startLeasing({
      limits: fixedWindow({ limit: 1_000, window: "1s" }),
      lease: { max: 100, ttl: "1m" },
    });
    await heat("ann", 8);
    for (let window = 0; window < 3; window += 1) {
      pass(1_000);
      const sources: string[] = [];
      for (let i = 0; i < 20; i += 1) sources.push((await consume("ann")).source);
      expect(sources.filter((source) => source === "lease").length).toBeGreaterThan(10);
    }
  });

  test("beside the next one, and its units are not told as left", async () => {
    const { heat, limiter, held, sent, serveAll, pass } = startLeasing();
    await heat("ann", 32);
    pass(150);
    let last = await limiter.consume("ann");
    while (held.length === 0) last = await limiter.consume("ann");
    await serveAll();
    const { remaining } = await limiter.consume("ann");
    expect(remaining).toBe(last.remaining - 1);
    pass(60);
    const peeked = await limiter.peek("ann");
    expect(peeked.source).toBe("lease");
    expect(peeked.remaining).toBeLessThan(remaining - 1);
    expect((await sent())?.name).toBe("refund");
    expect(await limiter.consume("ann")).toMatchObject({ remaining: peeked.remaining });
  });

  test("beside the next one, and whom that pays is not told its units either", async () => {
    const { heat, limiter, held, sent, serveAll, pass } = startLeasing();
    await heat("ann", 32);
    pass(150);
    while (held.length === 0) await limiter.consume("ann");
    await serveAll();
    const { remaining } = await limiter.consume("ann");
    pass(60);
    const paid = await limiter.consume("ann");
    expect(paid.source).toBe("lease");
    expect(paid.remaining).toBeLessThan(remaining - 1);
    expect((await sent())?.name).toBe("refund");
  });

  test("when others are asked for more", async () => {
    const { heat, consume, held, serveAll, limiter } = startLeasing();
    await heat("ann");
    const others = Array.from({ length: 1_000 }, (_, i) => limiter.consume(`other ${i}`));
    await letRun();
    expect(held.filter(({ name }) => name === "refund")).toHaveLength(1);
    await serveAll();
    await Promise.all(others);
    expect(await consume("ann")).toMatchObject({ source: "store", remaining: 997 });
  });

  test("when its limiter is closed, which waits until all is given back", async () => {
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
    await letRun();
    expect(isClosed).toBe(false);
    await asked?.carryOut();
    expect(held.map(({ name }) => name)).toEqual(["refund"]);
    await held.shift()?.carryOut();
    await closing;
  });
});

describe("what a lease paid for is refunded", () => {
  test("into the lease, while it is held", async () => {
    const { heat, limiter, sent } = startLeasing();
    await heat("ann");
    const decision = await limiter.consume("ann");
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect(await sent()).toBeUndefined();
    expect((await limiter.consume("ann")).source).toBe("lease");
    expect((await limiter.consume("ann")).source).toBe("lease");
  });

  test("to the store after that, once", async () => {
    const { heat, limiter, consume, serveAll, pass } = startLeasing();
    await heat("ann");
    const decision = await limiter.consume("ann");
    await limiter.consume("ann");
    pass(200);
    const { remaining } = await consume("ann");
    const refunded = limiter.refund(decision);
    expect(await serveAll()).toBe(1);
    expect(await refunded).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect((await consume("ann")).remaining).toBe(remaining);
  });

  test("as much as it charged, whatever its decision is made to say", async () => {
    const { heat, limiter, held } = startLeasing();
    await heat("ann");
    const decision = await limiter.consume("ann");
    Object.assign(decision, { cost: 5 });
    expect(await limiter.refund(decision)).toBe(true);
    expect((await limiter.consume("ann", { cost: 2 })).source).toBe("lease");
    void limiter.consume("ann");
    await letRun();
    // The next lease, and the request that no lease pays any more.
    expect(held).toHaveLength(2);
  });
});

describe("a reset", () => {
  test("forgets the lease as well", async () => {
    const { heat, limiter, consume, serveAll } = startLeasing();
    await heat("ann");
    const reset = limiter.reset("ann");
    await serveAll();
    expect(await reset).toBe(true);
    expect(await consume("ann")).toMatchObject({ source: "store", remaining: 999 });
  });

  test("and one that was asked for before it, or meanwhile", async () => {
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

test("a reset forgets the leases of every limiter in the process that counts the same", async () => {
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

test("a reset leaves the leases of other limiters", async () => {
  const { heat, limiter, store, serveAll } = startLeasing();
  const other = createLimiter({ name: "other", limits: HOUR, store });
  await heat("ann");
  const resetting = other.reset("ann");
  await serveAll();
  await resetting;
  expect((await limiter.consume("ann")).source).toBe("lease");
});

test("who is denied passes when it comes back after the time that it was told", async () => {
  const { consume, pass } = startLeasing({
    limits: gcra({ limit: 100, window: "100s" }),
    lease: { max: 100, ttl: "1m" },
  });
  await consume("ann", 60);
  const denied = await consume("ann", 50);
  expect(denied).toMatchObject({ allowed: false, retryAfterMs: 10_000 });
  pass(denied.retryAfterMs);
  expect((await consume("ann", 50)).allowed).toBe(true);
});

test("long subjects are not kept", async () => {
  const { consume } = startLeasing({ lease: { max: 100, ttl: "1m" } });
  const before = liveMebibytes();
  for (let i = 0; i < 100; i += 1) await consume(`${"a".repeat(2 ** 19)}${i}`);
  // Fifty mebibytes of subjects have gone through.
  expect(liveMebibytes() - before).toBeLessThan(10);
  await consume("ann");
});

test("a long subject has leases of its own", async () => {
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

describe("when the store does not answer", () => {
  test("what is held is spent", async () => {
    const { heat, limiter } = startLeasing({ storeTimeout: 20, onUnavailable: "deny" });
    await heat("ann");
    expect((await limiter.consume("bob")).source).toBe("deny");
    expect(await limiter.consume("ann")).toMatchObject({ source: "lease", degraded: false });
    expect((await limiter.consume("ann")).source).toBe("lease");
    expect((await limiter.consume("ann")).source).toBe("deny");
    await limiter.close();
  });

  test("a lease that comes too late is given back, and nothing of it is spent", async () => {
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

describe("a clock that gives no time ends the process", () => {
  /** As a clock of the application's own may. */
  const breakClock = (store: CountingStore): void => {
    const now = () => {
      throw new Error("no time");
    };
    Object.assign(store, { now });
  };

  test("when it is looked for leases that are over", async () => {
    const settled = watchUnhandled();
    const { heat, limiter, store } = startLeasing({ lease: { max: 9, ttl: 20 } });
    await heat("ann");
    breakClock(store);
    await after(40);
    await settled();
    await expect(limiter.consume("ann")).rejects.toThrow("no time");
    await limiter.close();
  });

  test("when a lease that came too late has been given back", async () => {
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
    await held.find(({ name }) => name === "refund")?.carryOut();
    await settled();
    await limiter.close();
  });
});

test("everybody is one subject, by whatever name", async () => {
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

test("a subject is the same by itself and by its dimension", async () => {
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
])("what is wrong is wrong with a lease, too: %j %j", async (subject, options, code) => {
  const { heat, limiter, serveAll } = startLeasing();
  await heat("ann");
  await expect(limiter.consume(subject as string, options)).rejects.toMatchObject({ code });
  const closing = limiter.close();
  await serveAll();
  await closing;
  await expect(limiter.consume("ann")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
});

test("what looks for leases that are over keeps nothing of a request", async () => {
  const requests = new AsyncLocalStorage<string>();
  const { store, held, pass } = holdStore(() => 0);
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
    for (await letRun(); held.length > 0; await letRun()) await held.shift()?.carryOut();
    await decision;
  }
  pass(20);
  await waitUntil("the lease is given back", 5_000, () => held.shift());
  expect(askers).toEqual([undefined]);
});

test("a lease makes what was known to be denied unknown", async () => {
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

describe("a block by hand", () => {
  test("ends the leases of its subject in this process, and of no other", async () => {
    const { limiter, serveAll, heat, consume } = startLeasing();
    await heat("ann", 8);
    await heat("bob");
    const blocking = limiter.block("ann", "1h");
    await serveAll();
    await blocking;
    expect(await consume("ann")).toMatchObject({ blocked: true, source: "store" });
    expect(await consume("bob")).toMatchObject({ allowed: true, source: "lease" });
  });

  test("ends them elsewhere as soon as the store denies", async () => {
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
