import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import type { Decision } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { internalsOf } from "../limiter/limiter-internals.ts";
import type { SlotsCall } from "../operations/slots.ts";
import { slotsOperation } from "../operations/slots.ts";
import { countersOf } from "../policy/counters.ts";
import { slotsOf } from "../policy/limiter-decision.ts";
import { memoryStore } from "../store/memory-store.ts";
import { brandStore, requireStore } from "../store/store.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

const two = concurrency({ limit: 2, ttl: "30s" });

/** A limiter on the faked clock, whose store notes which places it is asked about, and can refuse to say. */
function start(limits: Policy = two, options: object = {}) {
  const memory = requireStore(memoryStore({ clock: Date.now }));
  const tended: SlotsCall[] = [];
  let isAway = false;
  let heldRenewals: (() => void)[] | undefined;
  const store = brandStore({
    owner: memory.owner,
    prefix: memory.prefix,
    now: memory.now,
    async run(operation, call) {
      if ((operation as unknown) === slotsOperation) {
        tended.push(call as SlotsCall);
        if (isAway) throw new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "away");
        if (heldRenewals !== undefined && (call as SlotsCall).renews) {
          await new Promise<void>((resolve) => heldRenewals?.push(resolve));
        }
      }
      return memory.run(operation, call);
    },
  });
  const limiter = createLimiter({ name: "test", limits, store, ...options });
  return {
    limiter,
    memory,
    tended,
    /** Holds the renewals from now on, each until its function is called. */
    holdRenewals(): (() => void)[] {
      heldRenewals = [];
      return heldRenewals;
    },
    setAway(away: boolean) {
      isAway = away;
    },
    async remaining(): Promise<number> {
      return (await limiter.peek("ann", { cost: 0 })).remaining;
    },
  };
}

/** Work that goes on until it is told to end. */
function work() {
  const ends: (() => void)[] = [];
  const signals: AbortSignal[] = [];
  return {
    ends,
    signals,
    do: ({ signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return new Promise<void>((resolve) => ends.push(resolve));
    },
  };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

describe("a decision that takes a slot", () => {
  test("a request is denied with a retryAfterMs of 1,000 when all slots are taken", async () => {
    const { limiter } = start();
    const first = await limiter.consume("ann", { cost: 7 });
    expect(first).toMatchObject({
      allowed: true,
      limit: 2,
      remaining: 1,
      resetAfterMs: 0,
      cost: 7,
    });
    expect(first.limits).toEqual([
      {
        name: "2-at-once",
        per: "default",
        limit: 2,
        windowMs: 0,
        allowed: true,
        remaining: 1,
        overdrawn: 0,
        retryAfterMs: 0,
        resetAfterMs: 0,
        refillAfterMs: 0,
      },
    ]);
    await limiter.consume("ann");
    expect(await limiter.consume("ann")).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 1_000,
      resetAfterMs: 0,
    });
    expect((await limiter.consume("bob")).allowed).toBe(true);
    expect((await limiter.peek("ann")).allowed).toBe(false);
    expect(await limiter.peek("bob")).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("a slot is released once, by release only", async () => {
    const { limiter, remaining } = start();
    const decision = await limiter.consume("ann");
    await limiter.charge("ann");
    expect(await limiter.refund(decision)).toBe(false);
    expect(await limiter.settle(decision, 5)).toEqual({ charged: 0, overflow: 0, degraded: false });
    expect(await limiter.reset("ann")).toBe(false);
    expect(await remaining()).toBe(1);
    expect(await limiter.release(decision)).toBe(true);
    expect(await remaining()).toBe(2);
    expect(await limiter.release(decision)).toBe(false);
    await limiter.consume("ann");
    expect(await limiter.release(decision)).toBe(false);
    expect(await remaining()).toBe(1);
  });

  test("a slot that is not renewed is held for its ttl", async () => {
    const { limiter, remaining } = start();
    const decision = await limiter.consume("ann");
    await vi.advanceTimersByTimeAsync(29_999);
    expect(await remaining()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await remaining()).toBe(2);
    expect(await limiter.release(decision)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a decision's signal aborts when its slot expires, and not when it is released", async () => {
    const { limiter } = start();
    const [lapsing, given] = [await limiter.consume("ann"), await limiter.consume("ann")];
    expect(Object.keys(lapsing)).not.toContain("signal");
    const signals = [lapsing.signal, given.signal] as AbortSignal[];
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(29_999);
    await limiter.release(given);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(signals[0]?.reason).toMatchObject({ code: "HEADGATE_SLOT_LOST" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a decision without a slot has no signal and nothing to release", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1h" }));
    const decision = await limiter.consume("ann");
    expect(decision.signal).toBeUndefined();
    expect(await limiter.release(decision)).toBe(false);
    expect((await limiter.consume("ann")).allowed).toBe(false);
    const full = start();
    await Promise.all([full.limiter.consume("ann"), full.limiter.consume("ann")]);
    const denied = await full.limiter.consume("ann");
    expect(denied.signal).toBeUndefined();
    expect(await full.limiter.release(denied)).toBe(false);
  });

  test("a slot is released only by the limiter that decided, even after it was closed", async () => {
    const { limiter } = start();
    const other = start().limiter;
    const decision = await limiter.consume("ann");
    await expect(other.release(decision)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_DECISION",
    });
    await expect(limiter.release({ ...decision })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_DECISION",
    });
    const more = limiter.release as (decision: Decision, more: object) => Promise<boolean>;
    await expect(more(decision, {})).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
    await limiter.close();
    expect(await limiter.release(decision)).toBe(true);
  });
});

describe("slots together with other limits", () => {
  const limits = [gcra({ limit: 3, window: "1h" }), two];

  test("a request denied by one limit takes no slot and charges no units", async () => {
    const { limiter } = start(limits);
    const taken = [await limiter.consume("ann"), await limiter.consume("ann")];
    const denied = await limiter.consume("ann");
    expect(denied.limits.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 1],
      [false, 0],
    ]);
    expect(denied).toMatchObject({ limit: 2, retryAfterMs: 1_000 });
    for (const decision of taken) await limiter.release(decision);
    await limiter.consume("ann");
    const late = await limiter.consume("ann");
    expect(late.limits.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [false, 0],
      [true, 1],
    ]);
  });

  test("units and slots are refunded, reset and released independently", async () => {
    const { limiter } = start(limits);
    const decision = await limiter.consume("ann", { cost: 2 });
    const left = async () =>
      (await limiter.peek("ann", { cost: 0 })).limits.map(({ remaining }) => remaining);
    expect(await left()).toEqual([1, 1]);
    expect(await limiter.release(decision)).toBe(true);
    expect(await left()).toEqual([1, 2]);
    expect(await limiter.refund(decision)).toBe(true);
    expect(await left()).toEqual([3, 2]);
    const kept = await limiter.consume("ann");
    await limiter.settle(kept, 2);
    await limiter.charge("ann");
    expect(await left()).toEqual([0, 1]);
    expect(await limiter.reset("ann")).toBe(true);
    expect(await left()).toEqual([3, 1]);
    expect(await limiter.release(kept)).toBe(true);
  });

  test("a concurrency limit is not the binding limit in a tie", async () => {
    const { limiter } = start([two, fixedWindow({ limit: 2, window: "1s" })]);
    const decision = await limiter.consume("ann");
    expect(decision).toMatchObject({ limit: 2, remaining: 1, resetAfterMs: 1_000 });
  });

  test("limits passed with a call do not affect slots that are held", async () => {
    const { limiter } = start();
    await Promise.all([limiter.consume("ann"), limiter.consume("ann")]);
    const more = { limits: concurrency({ limit: 3, ttl: "30s" }) };
    const third = await limiter.consume("ann", more);
    expect(third).toMatchObject({ allowed: true, limit: 3, remaining: 0 });
    const { limits } = await limiter.peek("ann", { cost: 0 });
    expect(limits[0]).toMatchObject({ name: "2-at-once", remaining: 0, overdrawn: 1 });
    expect(await limiter.release(third)).toBe(true);
  });

  test("concurrency limits with the same ttl need names, and cannot be combined with lease", () => {
    expect(() => start([two, concurrency({ limit: 5, ttl: "30s" })])).toThrow(/give each a name/);
    expect(() => start(two, { lease: { max: 10, ttl: "1s" } })).toThrow(
      /lease cannot be used with a concurrency limit/,
    );
  });
});

describe("slots with a cost by name", () => {
  const limits = [
    gcra({ limit: 100, window: "1h", name: "requests" }),
    concurrency({ limit: 3, ttl: "30s", name: "small" }),
    concurrency({ limit: 1, ttl: "30s", name: "large" }),
  ];

  /** What is left of each limit. */
  async function left({ peek }: ReturnType<typeof start>["limiter"]): Promise<number[]> {
    return (await peek("ann", { cost: 0 })).limits.map(({ remaining }) => remaining);
  }

  test("a request takes as many slots as its cost for the limit, and none for a cost of 0", async () => {
    const { limiter } = start(limits);
    const decision = await limiter.consume("ann", { cost: { small: 2, large: 0 } });
    expect(decision).toMatchObject({ allowed: true, cost: { requests: 1, small: 2 } });
    expect(await left(limiter)).toEqual([99, 1, 1]);
    const denied = await limiter.consume("ann", { cost: { small: 2, large: 0 } });
    expect(denied.limits.map(({ allowed, retryAfterMs }) => [allowed, retryAfterMs])).toEqual([
      [true, 0],
      [false, 1_000],
    ]);
    expect((await limiter.consume("ann", { cost: { small: 4, large: 0 } })).retryAfterMs).toBe(
      Infinity,
    );
    expect(await limiter.release(decision)).toBe(true);
    expect(await left(limiter)).toEqual([99, 3, 1]);
  });

  test("the slots of one decision are renewed and lost together", async () => {
    const { limiter, memory } = start(limits);
    const long = work();
    const done = limiter.run("ann", long.do, { cost: { small: 3, large: 1 } });
    await vi.advanceTimersByTimeAsync(100_000);
    expect(await left(limiter)).toEqual([100, 0, 0]);
    expect(long.signals[0]?.aborted).toBe(false);
    memory.clear();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(long.signals[0]?.aborted).toBe(true);
    long.ends[0]?.();
    await done;
  });

  test("charge and settle by name apply to units only", async () => {
    const { limiter } = start(limits);
    const decision = await limiter.consume("ann", { cost: { requests: 5, large: 0 } });
    expect(await limiter.settle(decision, { requests: 7 })).toEqual({
      charged: { requests: 7 },
      overflow: { requests: 0 },
      degraded: false,
    });
    await limiter.charge("ann", { cost: { requests: 3 } });
    expect(await left(limiter)).toEqual([90, 2, 1]);
    const named = { cost: { small: 1 } };
    await expect(limiter.charge("ann", named)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_COST",
    });
    const other = await limiter.consume("ann", { cost: { requests: 1 } });
    await expect(limiter.settle(other, named.cost)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_COST",
    });
    expect(await limiter.release(decision)).toBe(true);
    const denied = await limiter.consume("ann", { cost: { requests: 1, large: 2 } });
    const nothing = { requests: 0 };
    expect(await limiter.settle(denied, {})).toEqual({
      charged: nothing,
      overflow: nothing,
      degraded: false,
    });
  });
});

describe("slots in shadow mode", () => {
  test("in shadow mode no request is denied, and only one that would be admitted takes a slot", async () => {
    const { limiter, remaining } = start(two, { shadow: true });
    const decisions = [];
    for (let i = 0; i < 3; i += 1) decisions.push(await limiter.consume("ann"));
    expect(decisions.map(({ wouldAllow }) => wouldAllow)).toEqual([true, true, false]);
    const released = await Promise.all(decisions.map((one) => limiter.release(one)));
    expect(released).toEqual([true, true, false]);
    expect(await remaining()).toBe(2);
  });
});

describe("run with a concurrency limit", () => {
  test("run holds a slot for as long as the work takes, and returns its result", async () => {
    const { limiter, remaining } = start();
    const long = work();
    const done = limiter.run("ann", async (admitted) => {
      expect(admitted.decision).toMatchObject({ allowed: true, remaining: 1 });
      await long.do(admitted);
      return 7;
    });
    await vi.advanceTimersByTimeAsync(300_000);
    expect(await remaining()).toBe(1);
    expect(long.signals[0]?.aborted).toBe(false);
    long.ends[0]?.();
    expect(await done).toBe(7);
    expect(await remaining()).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("run releases its slot when the work throws or rejects", async () => {
    const { limiter, remaining } = start();
    const bug = new Error("a bug");
    const throwing = limiter.run("ann", () => {
      throw bug;
    });
    await expect(throwing).rejects.toBe(bug);
    await expect(limiter.run("ann", () => Promise.reject(bug))).rejects.toBe(bug);
    expect(await remaining()).toBe(2);
  });

  test("run with a timeout of 0 does not wait", async () => {
    const { limiter } = start();
    await Promise.all([limiter.consume("ann"), limiter.consume("ann")]);
    const never = vi.fn();
    await expect(limiter.run("ann", never, { timeout: 0 })).rejects.toMatchObject({
      code: "HEADGATE_DENIED",
      cause: { allowed: false, retryAfterMs: 1_000 },
    });
    expect(never).not.toHaveBeenCalled();
    expect(await limiter.run("bob", () => "at once", { timeout: 0 })).toBe("at once");
  });

  test("run waits for a slot until its timeout or its signal", async () => {
    const { limiter } = start();
    const held = await limiter.consume("ann");
    await limiter.consume("ann");
    const timed = limiter.run("ann", () => 1, { timeout: "5s" }).catch(({ code }) => code);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await timed).toBe("HEADGATE_WAIT_TIMEOUT");
    const abort = new AbortController();
    const aborted = limiter.run("ann", () => 1, { signal: abort.signal }).catch((error) => error);
    await settle();
    abort.abort("enough");
    expect(await aborted).toBe("enough");
    await expect(limiter.run("ann", () => 1, { timeout: 0, signal: abort.signal })).rejects.toBe(
      "enough",
    );
    const patient = limiter.run("ann", () => "my turn");
    await settle();
    await limiter.release(held);
    expect(await patient).toBe("my turn");
  });

  test("run aborts the work's signal with the caller's", async () => {
    const { limiter, remaining } = start();
    const abort = new AbortController();
    const long = work();
    const done = limiter.run("ann", long.do, { signal: abort.signal });
    await settle();
    abort.abort("enough");
    expect(long.signals[0]).toMatchObject({ aborted: true, reason: "enough" });
    // The work decides when it is over.
    expect(await remaining()).toBe(1);
    long.ends[0]?.();
    await done;
    expect(await remaining()).toBe(2);
  });

  test("run works with limits without slots", async () => {
    const { limiter } = start(fixedWindow({ limit: 1, window: "10s" }));
    const order: string[] = [];
    const runs = ["first", "second"].map((name) =>
      limiter.run("ann", ({ signal }) => order.push(`${name} ${signal.aborted}`)),
    );
    await settle();
    expect(order).toEqual(["first false"]);
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all(runs);
    expect(order).toEqual(["first false", "second false"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("run rejects unknown options and invalid arguments", async () => {
    const { limiter } = start();
    const run = limiter.run as (...args: unknown[]) => Promise<unknown>;
    for (const args of [
      ["ann", () => 1, { timeuot: "1s" }],
      ["ann", "no function"],
      ["ann", () => 1, { timeout: 0, signal: "no signal" }],
      ["ann", () => 1, {}, "more"],
    ]) {
      await expect(run(...args)).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
    }
    await expect(run("ann", () => 1, { cost: -1 })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_COST",
    });
  });
});

describe("renewal of slots", () => {
  test("slots are renewed by one timer, with one call for up to 64 slots of a counter", async () => {
    const { limiter, tended } = start(concurrency({ limit: 200, ttl: "30s" }));
    const long = work();
    const runs = Array.from({ length: 100 }, (_, i) =>
      limiter.run(i < 90 ? "ann" : "bob", long.do),
    );
    await settle();
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(tended).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(tended.map(({ holders }) => holders.length)).toEqual([64, 26, 10]);
    expect(tended.every(({ renews }) => renews)).toBe(true);
    for (const end of long.ends) end();
    await Promise.all(runs);
    expect(vi.getTimerCount()).toBe(0);
    expect((await limiter.peek("ann", { cost: 0 })).remaining).toBe(200);
  });

  test("a lost slot is not taken again, and the work's signal aborts at the next renewal", async () => {
    const { limiter, memory } = start(concurrency({ limit: 1, ttl: "30s" }));
    const [first, second] = [work(), work()];
    const lost = limiter.run("ann", first.do);
    await settle();
    memory.clear();
    const other = limiter.run("ann", second.do);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(first.signals[0]?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(first.signals[0]).toMatchObject({
      aborted: true,
      reason: { code: "HEADGATE_SLOT_LOST" },
    });
    expect(second.signals[0]?.aborted).toBe(false);
    first.ends[0]?.();
    await lost;
    expect((await limiter.consume("ann")).allowed).toBe(false);
    second.ends[0]?.();
    await other;
    expect((await limiter.consume("ann")).allowed).toBe(true);
  });

  test("slots count as lost when the store has not renewed them for their ttl", async () => {
    const { limiter, setAway } = start();
    const long = work();
    const done = limiter.run("ann", long.do);
    await vi.advanceTimersByTimeAsync(10_000);
    setAway(true);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(long.signals[0]?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(long.signals[0]?.aborted).toBe(true);
    long.ends[0]?.();
    await done;
  });

  test("a renewed slot is held for its ttl from the sending of the renewal, however late its reply is", async () => {
    const { limiter, holdRenewals, setAway } = start();
    const decision = await limiter.consume("ann");
    slotsOf(decision, internalsOf(limiter).policy)?.startRenewing();
    const signal = decision.signal;
    const renewals = holdRenewals();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(renewals).toHaveLength(1);
    setAway(true);
    renewals[0]?.();
    // The renewal was sent after 10 s.
    await vi.advanceTimersByTimeAsync(24_999);
    expect(signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal?.aborted).toBe(true);
  });

  test("a slot that is released while its renewal is in flight is not lost", async () => {
    const { limiter, holdRenewals } = start();
    const decision = await limiter.consume("ann");
    const slots = slotsOf(decision, internalsOf(limiter).policy);
    slots?.startRenewing();
    const signal = decision.signal;
    const renewals = holdRenewals();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(renewals).toHaveLength(1);
    expect(await limiter.release(decision)).toBe(true);
    renewals[0]?.();
    await settle();
    expect(signal?.aborted).toBe(false);
  });

  test("slots survive one failed renewal", async () => {
    const { limiter, setAway, remaining } = start();
    const long = work();
    const done = limiter.run("ann", long.do);
    await vi.advanceTimersByTimeAsync(5_000);
    setAway(true);
    await vi.advanceTimersByTimeAsync(10_000);
    setAway(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await remaining()).toBe(1);
    expect(long.signals[0]?.aborted).toBe(false);
    long.ends[0]?.();
    await done;
    expect(await remaining()).toBe(2);
  });

  test("a release that did not reach the store can be repeated; otherwise the slot expires", async () => {
    const { limiter, setAway, remaining } = start();
    const decision = await limiter.consume("ann");
    setAway(true);
    await expect(limiter.release(decision)).rejects.toMatchObject({
      code: "HEADGATE_STORE_UNAVAILABLE",
    });
    setAway(false);
    expect(await remaining()).toBe(1);
    expect(await limiter.release(decision)).toBe(true);
    expect(await remaining()).toBe(2);
  });
});

describe("a call that waits for a slot", () => {
  test("waiting calls get released slots in the order of their arrival", async () => {
    const { limiter, tended } = start(concurrency({ limit: 1, ttl: "1h" }));
    const first = work();
    const order: number[] = [];
    const running = limiter.run("ann", first.do);
    await settle();
    const waiting = [1, 2, 3].map((i) => limiter.run("ann", () => order.push(i)));
    await settle();
    expect(order).toEqual([]);
    first.ends[0]?.();
    await settle();
    await Promise.all([running, ...waiting]);
    expect(order).toEqual([1, 2, 3]);
    expect(tended).toHaveLength(4);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a waiting call checks for a slot every 250 ms, because other processes release slots too", async () => {
    const { limiter, memory } = start(concurrency({ limit: 1, ttl: "1h" }));
    const run = vi.spyOn(memory, "run");
    await limiter.consume("ann");
    const admitted = vi.fn();
    const waiting = limiter.wait("ann").then(admitted);
    await vi.advanceTimersByTimeAsync(999);
    expect(run.mock.calls.filter(([operation]) => operation.name === "decide")).toHaveLength(1 + 4);
    memory.clear();
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
    expect(admitted).toHaveBeenCalledOnce();
  });

  test("a waiting call is woken when another limiter of the same name releases a slot", async () => {
    const { limiter, memory } = start(concurrency({ limit: 1, ttl: "1h" }));
    const other = createLimiter({
      name: "test",
      limits: concurrency({ limit: 1, ttl: "1h" }),
      store: memory,
    });
    const decision = await other.consume("ann");
    const waiting = limiter.wait("ann");
    await settle();
    await other.release(decision);
    await settle();
    expect((await waiting).allowed).toBe(true);
  });

  test("a waiting call does not check for a slot before the other limits allow it", async () => {
    const { limiter, memory } = start([
      concurrency({ limit: 1, ttl: "1h" }),
      fixedWindow({ limit: 1, window: "10s" }),
    ]);
    const run = vi.spyOn(memory, "run");
    await limiter.consume("ann");
    const waiting = limiter.wait("ann", { timeout: "12s" }).catch(({ code }) => code);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(run).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(2_001);
    expect(await waiting).toBe("HEADGATE_WAIT_TIMEOUT");
  });

  test("a released slot causes no call for one that only another limit denies", async () => {
    const { limiter, memory } = start([two, fixedWindow({ limit: 1, window: "10s" })]);
    const decision = await limiter.consume("ann");
    const waiting = limiter.wait("ann", { timeout: "5s" }).catch(({ code }) => code);
    await settle();
    const run = vi.spyOn(memory, "run");
    await limiter.release(decision);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await waiting).toBe("HEADGATE_WAIT_TIMEOUT");
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("a call that is aborted while it gets a slot does not keep it", async () => {
    const { limiter, remaining } = start(concurrency({ limit: 1, ttl: "1h" }));
    const decision = await limiter.consume("ann");
    const abort = new AbortController();
    const waiting = limiter.wait("ann", { signal: abort.signal }).catch((error) => error);
    await settle();
    const released = limiter.release(decision);
    // While the store is asked for it.
    await Promise.resolve();
    abort.abort("gone");
    expect(await waiting).toBe("gone");
    await released;
    await settle();
    expect(await remaining()).toBe(1);
  });
});

test("a slot can be renewed only by its holder", async () => {
  const { limiter, memory } = start();
  await limiter.consume("ann");
  const [counter] = countersOf(internalsOf(limiter).policy, "ann");
  const call = { counters: [counter], holders: ["stranger"], renews: true } as SlotsCall;
  expect(await memory.run(slotsOperation, call)).toEqual([false]);
});
