import { describe, expect, onTestFinished, test, vi } from "vitest";
import { flushMicrotasks, holdStore, resultOf } from "../../../../test/support/held-store.ts";
import { overridden } from "../../../../test/support/overriding.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import type { Decision } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { LimiterOptions } from "../limiter/limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";

const START = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

const hourly = (limit: number) => fixedWindow({ limit, window: "1h", name: "hourly" });
const to = (limit: number) => ({ limits: { hourly: { limit } } });

/** A limiter of 10 an hour in memory, whose clock the test moves. */
function start(options: Partial<LimiterOptions> = {}) {
  let now = START;
  const { store, ...operator } = overridden(requireStore(memoryStore({ clock: () => now })));
  const limiter = createLimiter({
    name: "api",
    limits: hourly(10),
    store,
    denyCache: false,
    ...options,
  });
  onTestFinished(() => limiter.close());
  const advance = (ms: number) => {
    now += ms;
  };
  return { limiter, store, advance, ...operator };
}

/** The same on a server that is asked when the test says so. */
function startRemote(options: Partial<LimiterOptions> = {}) {
  const { store: held, held: calls, advance } = holdStore(() => 0);
  const { store, ...operator } = overridden(held);
  const limiter = createLimiter({
    name: "api",
    limits: hourly(10),
    store,
    storeTimeout: "1m",
    ...options,
  });
  const answered = <T>(asked: Promise<T>) => resultOf(calls, asked);
  onTestFinished(() => answered(limiter.close()));
  return { limiter, calls, advance, answered, ...operator };
}

const numbersOf = ({ limits }: Decision) =>
  limits.map(({ name, limit, remaining }) => [name, limit, remaining]);

describe("an override of a limit", () => {
  test("replaces the limit's number and is reported; the usage carries over", async () => {
    const { limiter, override } = start();
    await limiter.consume("ada", { cost: 10 });
    expect(await limiter.consume("ada")).toMatchObject({ allowed: false, overridden: false });
    override(to(1_000));
    const raised = await limiter.consume("ada");
    expect(raised).toMatchObject({ allowed: true, overridden: true, limit: 1_000 });
    expect(numbersOf(raised)).toEqual([["hourly", 1_000, 989]]);
    override(to(5));
    const lowered = await limiter.consume("bob", { cost: 6 });
    expect(lowered).toMatchObject({ allowed: false, overridden: true, limit: 5 });
    expect((await limiter.peek("ada", { cost: 0 })).limits[0]).toMatchObject({ overdrawn: 6 });
    override();
    expect(await limiter.peek("bob")).toMatchObject({ overridden: false, limit: 10 });
    expect(limiter.limits).toMatchObject([{ name: "hourly", limit: 10 }]);
  });

  test("expires by the server's clock", async () => {
    const { limiter, store, advance, override } = start();
    override({ ...to(1_000), until: store.now() + 5_000_000 });
    advance(4_999);
    expect(await limiter.peek("ada")).toMatchObject({ limit: 1_000, overridden: true });
    advance(1);
    expect(await limiter.peek("ada")).toMatchObject({ limit: 10, overridden: false });
  });

  test("applies only to the limiter that it names", async () => {
    const { limiter, store, override } = start();
    const other = createLimiter({ name: "other", limits: hourly(10), store });
    override({ ...to(5), limiter: "other" });
    expect(await limiter.consume("ada")).toMatchObject({ limit: 10, overridden: false });
    expect(await other.consume("ada")).toMatchObject({ limit: 5, overridden: true });
  });

  test("leaves numbers unchanged that it does not name", async () => {
    const limits = gcra({ limit: 100, window: "1h", burst: 20, name: "hourly" });
    const { limiter, override } = start({ limits });
    override(to(50));
    expect((await limiter.peek("ada")).limits).toMatchObject([{ limit: 20, windowMs: 1_440_000 }]);
    override({ limits: { hourly: { burst: 40 } } });
    expect((await limiter.peek("ada")).limits).toMatchObject([{ limit: 40, windowMs: 1_440_000 }]);
  });

  test("for a subject takes precedence over one for all subjects, number by number", async () => {
    const limits = gcra({ limit: 100, window: "1h", burst: 20, name: "hourly" });
    const { limiter, override } = start({ limits });
    const own = { subject: { default: "ada" }, limits: { hourly: { burst: 50 } } };
    override(own, { limits: { hourly: { limit: 200, burst: 2 } } });
    expect(await limiter.peek("bob")).toMatchObject({ limit: 2 });
    // 50 come back at 200 an hour.
    expect((await limiter.peek("ada")).limits).toMatchObject([
      { limit: 50, windowMs: HOUR_MS / 4 },
    ]);
  });

  test("takes precedence over the limits of a call, which apply where it names no number", async () => {
    const { limiter, override } = start();
    const call = { limits: fixedWindow({ limit: 30, window: "1h" }) };
    override({ ...to(50), subject: { default: "ada" } });
    expect(numbersOf(await limiter.peek("ada", call))).toEqual([["hourly", 50, 49]]);
    expect(await limiter.peek("bob", call)).toMatchObject({ limit: 30, overridden: false });
  });

  test("applies to wait, run and charge alike", async () => {
    const { limiter, override } = start();
    await limiter.consume("ada", { cost: 10 });
    override(to(20));
    expect(await limiter.wait("ada")).toMatchObject({ overridden: true, remaining: 9 });
    const left = await limiter.run("ada", ({ decision }) => decision.remaining);
    expect(left).toBe(8);
    expect(await limiter.run("ada", () => "done", { timeout: 0 })).toBe("done");
    override(to(1_000));
    expect(await limiter.charge("ada", { cost: 100 })).toMatchObject({ charged: 100, overflow: 0 });
    expect(await limiter.peek("ada", { cost: 0 })).toMatchObject({ remaining: 1_000 - 113 });
  });

  test("sets how fast charged usage drains", async () => {
    const limits = gcra({ limit: 10, window: "1h", name: "hourly" });
    const { limiter, override, advance } = start({ limits });
    override(to(1_000));
    await limiter.consume("ada", { cost: 500 });
    advance(HOUR_MS / 2);
    await limiter.charge("ada", { cost: 2 });
    expect(await limiter.peek("ada", { cost: 0 })).toMatchObject({ remaining: 998 });
    override();
    expect(await limiter.peek("ada", { cost: 0 })).toMatchObject({ remaining: 8 });
  });

  test("that lowers a concurrency limit releases no held slots", async () => {
    const limits = concurrency({ limit: 3, ttl: "1m", name: "places" });
    const { limiter, override } = start({ limits });
    const held = [await limiter.consume("ada"), await limiter.consume("ada")];
    override({ limits: { places: { limit: 1 } } });
    const denied = await limiter.consume("ada");
    expect(denied).toMatchObject({ allowed: false, overridden: true });
    expect(denied.limits).toMatchObject([{ limit: 1, remaining: 0, overdrawn: 1 }]);
    expect(held.map(({ signal }) => signal?.aborted)).toEqual([false, false]);
    for (const decision of held) expect(await limiter.release(decision)).toBe(true);
    expect(await limiter.consume("ada")).toMatchObject({ allowed: true, overridden: true });
  });

  test("of a calendar window recovers at the end of the window", async () => {
    const limits = fixedWindow({ limit: 10, window: "day", name: "daily" });
    const { limiter, override } = start({ limits });
    const plain = await limiter.peek("ada", { cost: 0 });
    override({ limits: { daily: { limit: 50 } } });
    const { windowMs } = plain.limits[0] as Decision["limits"][0];
    expect((await limiter.peek("ada", { cost: 0 })).limits).toMatchObject([
      { limit: 50, windowMs },
    ]);
    await limiter.consume("ada", { cost: 50 });
    const [used] = (await limiter.peek("ada", { cost: 0 })).limits;
    override();
    expect((await limiter.peek("ada", { cost: 0 })).limits).toMatchObject([
      { resetAfterMs: used?.resetAfterMs, overdrawn: 40 },
    ]);
  });

  test("blocks on a denial for the duration of the limit's block", async () => {
    const limits = { ...hourly(10), block: "1d" } as const;
    const { limiter, override } = start({ limits });
    override(to(2));
    await limiter.consume("ada", { cost: 2 });
    expect(await limiter.consume("ada")).toMatchObject({
      blocked: true,
      retryAfterMs: 24 * HOUR_MS,
    });
    override(to(1_000));
    expect(await limiter.consume("ada")).toMatchObject({ allowed: false, blocked: true });
  });

  test("blocks on a settled charge, not on a denial, if the limit does", async () => {
    const limits = fixedWindow({ limit: 1, window: "1h", name: "hourly", block: "1m" });
    const { limiter, override } = start({ limits, blockOn: "settle" });
    override({ limiter: "api", ...to(2) });
    const [first, second] = [await limiter.consume("ada"), await limiter.consume("ada")];
    for (let i = 0; i < 2; i += 1) {
      expect(await limiter.consume("ada")).toMatchObject({ allowed: false, blocked: false });
    }
    await limiter.settle(first, 1);
    expect(await limiter.peek("ada")).toMatchObject({ blocked: false });
    await limiter.settle(second, 1);
    expect(await limiter.peek("ada")).toMatchObject({ blocked: true });
  });

  test("that sets shadow mode keeps settled charges, and blocks no client", async () => {
    const limits = fixedWindow({ limit: 1, window: "1h", name: "hourly", block: "1m" });
    const { limiter, override } = start({ limits, blockOn: "settle" });
    override({ limiter: "api", shadow: true });
    await limiter.settle(await limiter.consume("ada"), 1);
    expect(await limiter.peek("ada")).toMatchObject({ blocked: false });
    override({ limiter: "api", shadow: false });
    expect(await limiter.peek("ada")).toMatchObject({ allowed: false, blocked: false });
  });

  test("applies to a cost by name, and to its settling", async () => {
    const limits = [
      fixedWindow({ limit: 10, window: "1h", name: "requests" }),
      fixedWindow({ limit: 100, window: "1h", name: "tokens", per: "tenant" }),
    ];
    const { limiter, override } = start({ limits });
    override({ limits: { tokens: { limit: 1_000 } }, subject: { tenant: "acme" } });
    const subject = { default: "ada", tenant: "acme" };
    const decision = await limiter.consume(subject, { cost: { tokens: 500, requests: 0 } });
    expect(decision).toMatchObject({ allowed: true, overridden: true, cost: { tokens: 500 } });
    expect(numbersOf(decision)).toEqual([["tokens", 1_000, 500]]);
    expect(await limiter.settle(decision, { tokens: 900 })).toMatchObject({
      charged: { tokens: 900 },
    });
    expect(numbersOf(await limiter.peek(subject, { cost: 0 }))).toEqual([
      ["requests", 10, 10],
      ["tokens", 1_000, 100],
    ]);
    expect(numbersOf(await limiter.peek({ ...subject, tenant: "other" }, { cost: 0 }))).toEqual([
      ["requests", 10, 10],
      ["tokens", 100, 100],
    ]);
    expect(await limiter.refund(await limiter.consume(subject))).toBe(true);
  });

  test("is read before the decision if the known record is too old", async () => {
    const { limiter, override, age, answer } = start();
    age();
    override(to(3));
    const asked = [limiter.consume("ada"), limiter.charge("ada"), limiter.wait("bob")] as const;
    await flushMicrotasks();
    answer();
    expect(await asked[0]).toMatchObject({ limit: 3, overridden: true });
    await asked[1];
    expect(await asked[2]).toMatchObject({ limit: 3, overridden: true });
    age();
    const late = limiter.consume("ada");
    const closing = limiter.close();
    await expect(limiter.consume("ada")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
    answer();
    expect(await late).toMatchObject({ limit: 3, overridden: true });
    await closing;
  });
});

describe("overrides for two limiters in one decision", () => {
  function startTwo(shadow = false) {
    const started = start({ shadow });
    const { store } = started;
    const limits = fixedWindow({ limit: 5, window: "1h", name: "route", per: "route" });
    const child = createLimiter({ name: "route", limits, store, extends: started.limiter, shadow });
    return { ...started, child, subject: { default: "ada", route: "r" } };
  }

  test("each limiter follows the overrides that name it", async () => {
    const { child, limiter, subject, override } = startTwo();
    override(to(20));
    expect(numbersOf(await child.consume(subject))).toEqual([
      ["hourly", 20, 19],
      ["route", 5, 4],
    ]);
    override({ limiter: "route", limits: { route: { limit: 50 } } });
    expect(numbersOf(await child.consume(subject))).toEqual([
      ["hourly", 10, 8],
      ["route", 50, 48],
    ]);
    expect(await limiter.consume("ada")).toMatchObject({ overridden: false, remaining: 7 });
  });

  test("the decision is in shadow mode if both limiters are", async () => {
    const { child, subject, override } = startTwo();
    await child.consume(subject, { cost: 5 });
    override({ shadow: true });
    expect(await child.consume(subject)).toMatchObject({ allowed: false, overridden: true });
    override({ shadow: true, limiter: "route" });
    expect(await child.consume(subject)).toMatchObject({ allowed: false, overridden: true });
    override({ shadow: true }, { shadow: true, limiter: "route" });
    expect(await child.consume(subject)).toMatchObject({ allowed: true, wouldAllow: false });
  });

  test("one enforcing limiter enforces both", async () => {
    const { child, subject, override } = startTwo(true);
    await child.consume(subject, { cost: 5 });
    expect(await child.consume(subject)).toMatchObject({ allowed: true, shadow: true });
    override({ shadow: false });
    expect(await child.consume(subject)).toMatchObject({ allowed: false, shadow: false });
  });
});

describe("an override with shadow mode", () => {
  test("denies no request, counts, and reports the decision that would be made", async () => {
    const { limiter, override } = start();
    override({ shadow: true });
    await limiter.consume("ada", { cost: 10 });
    expect(await limiter.consume("ada")).toMatchObject({
      allowed: true,
      overridden: true,
      shadow: true,
      wouldAllow: false,
      retryAfterMs: 0,
    });
    expect(await limiter.wait("ada", { cost: 11 })).toMatchObject({ allowed: true });
    override();
    expect(await limiter.consume("ada")).toMatchObject({ allowed: false, shadow: false });
  });

  test("applies to the subject that it names, together with other overrides' numbers", async () => {
    const { limiter, override } = start();
    override({ shadow: true, subject: { default: "ada" } }, to(2));
    expect(await limiter.consume("ada", { cost: 3 })).toMatchObject({
      allowed: true,
      wouldAllow: false,
    });
    expect(await limiter.consume("bob", { cost: 3 })).toMatchObject({
      allowed: false,
      shadow: false,
    });
  });

  test("set to false enforces a limiter configured in shadow mode, and blocks", async () => {
    const limits = { ...hourly(1), block: "1d" } as const;
    const { limiter, override } = start({ limits, shadow: true });
    await limiter.consume("ada");
    expect(await limiter.consume("ada")).toMatchObject({ allowed: true, blocked: false });
    override({ shadow: false });
    expect(await limiter.consume("ada")).toMatchObject({
      allowed: false,
      shadow: false,
      blocked: true,
    });
  });

  test("set to true blocks no client", async () => {
    const limits = { ...hourly(1), block: "1d" } as const;
    const { limiter, override } = start({ limits });
    override({ shadow: true });
    await limiter.consume("ada", { cost: 1 });
    await limiter.consume("ada");
    override();
    expect(await limiter.peek("ada")).toMatchObject({ allowed: false, blocked: false });
  });
});

describe("an incompatible override", () => {
  test("is ignored as a whole, and reported once", async () => {
    const warnings: (Error & { code?: string })[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    onTestFinished(() => void process.off("warning", note));
    const { limiter, override } = start();
    for (let i = 0; i < 3; i += 1) {
      override({ limits: { hourly: { limit: 5 }, gone: { limit: 5 } }, shadow: true });
      expect(await limiter.consume("ada")).toMatchObject({ limit: 10, overridden: false });
    }
    override(to(5), { ...to(-1), subject: { default: "ada" } });
    expect(await limiter.consume("ada")).toMatchObject({ limit: 5, overridden: true });
    await new Promise((resolve) => setImmediate(resolve));
    const own = warnings.filter(({ code }) => code === "HEADGATE_OVERRIDE_IGNORED");
    expect(own.map(({ message }) => message)).toEqual([
      'Headgate: an override of the limiter "api" does not fit it, and is ignored: override: no limit is called "gone"; the limits are "hourly"',
      'Headgate: an override of the limiter "api" does not fit it, and is ignored: override of "hourly": fixedWindow: limit must be a whole number from 0 to 1000000000, got -1',
    ]);
  });
});

describe("a waiting call", () => {
  test("is admitted when the limit is raised, long before its expected time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { limiter, override } = start();
    await limiter.consume("ada", { cost: 10 });
    let answered: Decision | undefined;
    const waiting = limiter.wait("ada").then((decision) => {
      answered = decision;
    });
    await vi.advanceTimersByTimeAsync(3_000);
    override(to(11));
    expect(answered).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(answered).toMatchObject({ allowed: true, overridden: true, remaining: 0 });
    await waiting;
    // What the call leaves behind is gone with the next turn of the event loop.
    await vi.advanceTimersByTimeAsync(0);
    // Overrides are no longer checked.
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is admitted when the override that lowered the limit expires", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { limiter, store, override, advance } = start();
    override({ ...to(2), until: store.now() + 60_000_000 });
    await limiter.consume("ada", { cost: 2 });
    const waiting = limiter.wait("ada");
    await vi.advanceTimersByTimeAsync(59_000);
    advance(60_000);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await waiting).toMatchObject({ allowed: true, overridden: false, remaining: 7 });
  });

  test("waits for the record no longer than its timeout", async () => {
    const { limiter, override, age, answer } = start();
    age();
    override(to(30));
    const waiting = limiter.wait("ada", { cost: 20 });
    await expect(limiter.wait("bob", { timeout: 1 })).rejects.toMatchObject({
      code: "HEADGATE_WAIT_TIMEOUT",
    });
    answer();
    expect(await waiting).toMatchObject({ allowed: true, overridden: true, remaining: 10 });
  });

  test("for more than a lowered limit ever grants is rejected at once", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { limiter, override } = start();
    await limiter.consume("ada", { cost: 10 });
    const waiting = limiter.wait("ada", { cost: 5 });
    const rejected = expect(waiting).rejects.toMatchObject({ code: "HEADGATE_COST_ABOVE_LIMIT" });
    await vi.advanceTimersByTimeAsync(100);
    override(to(4));
    await vi.advanceTimersByTimeAsync(1_000);
    await rejected;
    await expect(limiter.wait("bob", { cost: 5 })).rejects.toMatchObject({
      code: "HEADGATE_COST_ABOVE_LIMIT",
    });
  });
});

describe("overrides on a Redis store", () => {
  test("a cached denial does not apply to a raised limit", async () => {
    const { limiter, answered, override, advance } = startRemote();
    await answered(limiter.consume("ada", { cost: 10 }));
    advance(1);
    expect(await answered(limiter.consume("ada"))).toMatchObject({ source: "store" });
    expect(await limiter.consume("ada")).toMatchObject({ source: "deny-cache" });
    override(to(11));
    expect(await answered(limiter.consume("ada"))).toMatchObject({
      allowed: true,
      source: "store",
    });
    advance(1);
    expect(await answered(limiter.consume("ada"))).toMatchObject({ allowed: false });
    const known = await limiter.consume("ada");
    expect(known).toMatchObject({ source: "deny-cache", overridden: true, limit: 11 });
  });

  test("degraded decisions use the effective limits while the store is unavailable", async () => {
    const { limiter, calls, override, advance } = startRemote({
      localShare: 0.5,
      denyCache: false,
    });
    override({ ...to(100), until: START * 1_000 + 5_000_000 });
    const ask = async (cost: number) => {
      const asked = limiter.consume("ada", { cost });
      await flushMicrotasks();
      await calls.shift()?.refuse(new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "away"));
      return asked;
    };
    const local = await ask(50);
    expect(local).toMatchObject({ source: "local", allowed: true, overridden: true, limit: 50 });
    expect(await ask(1)).toMatchObject({ source: "local", allowed: false, overridden: true });
    advance(5_000);
    expect(await ask(1)).toMatchObject({ source: "local", limit: 5, overridden: false });
  });
});

test("with keys in separate hash slots, each dimension uses its own overrides and cached denials", async () => {
  const {
    store: held,
    held: calls,
    advance,
  } = holdStore((key) => (key.includes(":tenant:") ? 1 : 2));
  const { store, override } = overridden(held);
  const limits = [
    hourly(10),
    fixedWindow({ limit: 10, window: "1h", name: "tenant", per: "tenant" }),
  ];
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
  onTestFinished(() => limiter.close());
  const subject = { default: "ada", tenant: "acme" };
  const consume = (cost = 1) => resultOf(calls, limiter.consume(subject, { cost }));
  override({ limits: { tenant: { limit: 5 } }, subject: { tenant: "acme" } });
  expect(await consume(5)).toMatchObject({ allowed: true, overridden: true });
  advance(1);
  const denied = await consume();
  expect(numbersOf(denied)).toEqual([
    ["hourly", 10, 5],
    ["tenant", 5, 0],
  ]);
  expect(await limiter.consume(subject)).toMatchObject({ source: "deny-cache", overridden: true });
  override({ limits: { tenant: { limit: 100 } } });
  expect(numbersOf(await consume())).toEqual([
    ["hourly", 10, 4],
    ["tenant", 100, 94],
  ]);
  override();
  expect(await consume()).toMatchObject({ allowed: true, overridden: false });
});

describe("overrides with leases", () => {
  const lease = { max: 100, ttl: "1m" } as const;

  async function startLeasing() {
    const started = startRemote({ limits: hourly(1_000), lease });
    const { limiter, answered, calls } = started;
    const consume = () => answered(limiter.consume("ada"));
    for (let i = 0; i < 20; i += 1) await consume();
    expect((await consume()).source).toBe("lease");
    return { ...started, consume, names: () => calls.map(({ name }) => name) };
  }

  test("leased units are returned at once, none are leased during the override, and leasing resumes afterwards", async () => {
    const { limiter, override, consume, names, answered } = await startLeasing();
    override(to(25));
    const asked = limiter.consume("bob");
    await flushMicrotasks();
    expect(names()).toEqual(["refund", "decide"]);
    expect(await answered(asked)).toMatchObject({ source: "store", overridden: true });
    for (let i = 0; i < 10; i += 1) expect((await consume()).source).not.toBe("lease");
    expect(await answered(limiter.peek("ada", { cost: 0 }))).toMatchObject({ remaining: 0 });
    override();
    expect(await answered(limiter.peek("ada", { cost: 0 }))).toMatchObject({ remaining: 975 });
    for (let i = 0; i < 20; i += 1) await consume();
    expect((await consume()).source).toBe("lease");
  });

  test("leased units of a subject that is too long for the index are returned at its next request", async () => {
    const { limiter, override, answered, calls } = startRemote({ limits: hourly(1_000), lease });
    const subject = "a".repeat(100);
    const consume = () => answered(limiter.consume(subject));
    for (let i = 0; i < 20; i += 1) await consume();
    expect((await consume()).source).toBe("lease");
    override({ ...to(25), subject: { default: subject } });
    const asked = limiter.consume(subject);
    await flushMicrotasks();
    expect(calls.map(({ name }) => name)).toEqual(["refund", "decide"]);
    expect(await answered(asked)).toMatchObject({ source: "store", overridden: true });
  });

  test("an override of another subject leaves leases alone", async () => {
    const { override, consume, limiter, answered } = await startLeasing();
    override({ ...to(5), subject: { default: "bob" } });
    expect((await consume()).source).toBe("lease");
    expect(await answered(limiter.consume("bob"))).toMatchObject({ limit: 5, source: "store" });
  });

  test("a lease that arrives after the override is returned", async () => {
    const { limiter, override, calls } = startRemote({ limits: hourly(1_000), lease });
    const first = limiter.consume("ada");
    await flushMicrotasks();
    await calls.shift()?.carryOut();
    await first;
    const second = limiter.consume("ada");
    await flushMicrotasks();
    expect(calls.map(({ name }) => name)).toEqual(["decide", "decide"]);
    override({ shadow: true });
    const third = limiter.consume("ada");
    await flushMicrotasks();
    await calls.shift()?.carryOut();
    await second;
    await calls.shift()?.carryOut();
    expect(calls.map(({ name }) => name)).toEqual(["decide", "refund"]);
    await calls.shift()?.carryOut();
    expect(await third).toMatchObject({ source: "store", shadow: true });
    await calls.shift()?.carryOut();
  });
});
