import { test as propertyTest } from "@fast-check/vitest";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { internalsOf } from "../limiter/limiter-internals.ts";
import { countersOf } from "../policy/counters.ts";
import { releasesOf } from "../slots/held-slots.ts";
import { memoryStore } from "../store/memory-store.ts";
import { brandStore, requireStore } from "../store/store.ts";
import { MAX_IN_FLIGHT } from "./attempt-window.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const delay = (ms: number) =>
  ms === 0 ? Promise.resolve() : new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Processes that share counts, each so many milliseconds from the store and back. Time is faked. */
function start(limits: Policy, distanceMs: number, processes = 1, maxQueue?: number) {
  const memory = requireStore(memoryStore({ clock: Date.now }));
  const seen = { decides: 0, refunds: 0, inFlight: 0, mostInFlight: 0 };
  async function run(operation: never, call: never): Promise<unknown> {
    const isDecide = (operation as { name: string }).name === "decide";
    if (isDecide) {
      seen.decides += 1;
      seen.inFlight += 1;
      seen.mostInFlight = Math.max(seen.mostInFlight, seen.inFlight);
    } else if ((operation as { name: string }).name === "refund") seen.refunds += 1;
    await delay(distanceMs / 2);
    const reply = await memory.run(operation, call);
    await delay(distanceMs / 2);
    if (isDecide) seen.inFlight -= 1;
    return reply;
  }
  const { prefix, now } = memory;
  const limiters = Array.from({ length: processes }, () => {
    const store = brandStore({ owner: {}, prefix, now, run: run as never });
    return createLimiter({ name: "far", limits, store, maxQueue });
  });
  const near = brandStore({ owner: {}, prefix, now, run: memory.run.bind(memory) });
  return {
    seen,
    limiters,
    limiter: limiters[0] as Limiter,
    /** A limiter of the same counts without a distance. */
    near: createLimiter({ name: "far", limits, store: near, maxQueue }),
  };
}

describe("calls of wait far from the store", () => {
  test.each([0, 2, 10, 50])(
    "a call that finds room waits one round trip of %i ms, and less than two before the first answer",
    async (distanceMs) => {
      const { limiter, seen } = start(gcra({ limit: 10_000, window: "1s" }), distanceMs);
      const waited: number[] = [];
      for (let i = 0; i < 100; i += 1) {
        const from = Date.now();
        void limiter.wait("u").then(() => waited.push(Date.now() - from));
        await pass(5);
      }
      await pass(2 * distanceMs);
      expect(waited).toHaveLength(100);
      const first = Math.ceil(distanceMs / 5);
      expect(Math.max(...waited.slice(0, first), 0)).toBeLessThanOrEqual(2 * distanceMs);
      expect(new Set(waited.slice(first))).toEqual(new Set([distanceMs]));
      expect(seen.decides).toBe(100);
    },
  );

  test("a call that arrives after a quiet time waits one round trip", async () => {
    const { limiter } = start(gcra({ limit: 10, window: "1s" }), 10);
    for (let i = 0; i < 3; i += 1) {
      const from = Date.now();
      const call = limiter.wait("u").then(() => Date.now() - from);
      await pass(500);
      expect(await call).toBe(10);
    }
  });

  test("50 slots run 50 jobs at once, and the next 50 two round trips after these end", async () => {
    const { limiter, seen } = start(concurrency({ limit: 50, ttl: "1m" }), 10);
    const running = { now: 0, started: [] as number[] };
    const from = Date.now();
    for (let i = 0; i < 150; i += 1) {
      void limiter.run("u", async () => {
        running.now += 1;
        running.started.push(Date.now() - from);
        await delay(100);
        running.now -= 1;
      });
    }
    await pass(20);
    expect(running.now).toBe(50);
    await pass(1_000);
    expect(running.started).toHaveLength(150);
    // One finds out how many slots are free, and 49 take the rest; each that is released is taken again by one attempt.
    expect(running.started.slice(0, 50)).toEqual([10, ...new Array(49).fill(20)]);
    expect(running.started.slice(50, 100)).toEqual([130, ...new Array(49).fill(140)]);
    expect(seen.mostInFlight).toBeLessThanOrEqual(50);
  });

  test("a line paced at one call each 50 ms keeps that pace 50 ms away from the store", async () => {
    const { limiter } = start(gcra({ limit: 20, window: "1s", burst: 1 }), 50);
    const admitted: number[] = [];
    const from = Date.now();
    for (let i = 0; i < 20; i += 1) {
      void limiter.wait("u").then(() => admitted.push(Date.now() - from));
    }
    await pass(3_000);
    expect(admitted).toEqual(Array.from({ length: 20 }, (_, i) => 50 + i * 50));
  });

  test("a line of 1,000 calls uses each fixed window to its last unit, within three round trips of its start", async () => {
    const { limiter, seen } = start(fixedWindow({ limit: 100, window: "1s" }), 10);
    const admitted: number[] = [];
    const from = Date.now();
    for (let i = 0; i < 1_000; i += 1) {
      void limiter.wait("u").then(() => admitted.push(Date.now() - from));
    }
    await pass(9_100);
    for (let second = 0; second < 9; second += 1) {
      const inWindow = admitted.filter((ms) => ms >= second * 1_000 && ms <= second * 1_000 + 30);
      expect(inWindow).toHaveLength(100);
    }
    await pass(1_000);
    expect(admitted).toHaveLength(1_000);
    // Each window: one attempt that is denied at its end.
    expect(seen.decides).toBe(1_000 + 9);
    expect(seen.mostInFlight).toBe(MAX_IN_FLIGHT);
  });

  test("a line in front of a call of another cost holds it back, and no attempt of it is made before", async () => {
    const { limiter, seen } = start(slidingLog({ limit: 10, window: "10s" }), 10);
    const order: string[] = [];
    const call = (name: string, cost: number) =>
      void limiter.wait("u", { cost }).then(() => order.push(name));
    for (const name of ["a", "b", "c"]) call(name, 1);
    call("large", 7);
    call("d", 1);
    await pass(30);
    expect(order).toEqual(["a", "b", "c", "large"]);
    // One each for a and for large, after which nothing is left, and two after the answer to a.
    expect(seen.decides).toBe(5);
    await pass(10_000);
    expect(order.at(-1)).toBe("d");
  });

  test("calls with limits of their own in other numbers do not use each other's attempts", async () => {
    const { limiter } = start(fixedWindow({ limit: 1, window: "1s", name: "n" }), 10);
    const limits = (limit: number) => fixedWindow({ limit, window: "1s", name: "n" });
    const order: string[] = [];
    const call = async (name: string, limit: number) => {
      const decision = await limiter.wait("u", { limits: limits(limit) });
      order.push(`${name}: ${decision.limit}`);
    };
    void call("a", 5);
    void call("b", 9);
    void call("c", 9);
    void call("d", 5);
    await pass(100);
    expect(order).toEqual(["a: 5", "b: 9", "c: 9", "d: 5"]);
  });

  test("requests that wait and calls of wait for one subject use each other's attempts", async () => {
    const { limiter, near, seen } = start(fixedWindow({ limit: 2, window: "1s" }), 10);
    await near.consume("u", { cost: 2 });
    const controller = new AbortController();
    const gone = limiter.wait("u", { signal: controller.signal }).catch(String);
    await pass(10);
    const { consumeOrWait, policy } = internalsOf(limiter);
    const disconnect = {
      signal: new AbortController().signal,
      isDisconnected: () => false,
      stop() {},
    };
    const request = consumeOrWait(policy.groups, "u", undefined, {
      timeoutMs: 5_000,
      watchDisconnect: () => disconnect,
    });
    // The attempt of the call in front is on its way.
    await pass(990);
    expect(seen.decides).toBe(2);
    controller.abort("gone");
    await pass(10);
    expect(await gone).toBe("gone");
    expect(await request).toMatchObject({ decision: { allowed: true }, waitedMs: 995 });
    expect(seen).toMatchObject({ decides: 2, refunds: 0 });
  });

  test("attempts that no call needs any more are refunded, and their slots released", async () => {
    const limits = [
      slidingLog({ limit: 100, window: "1h", name: "units" }),
      concurrency({ limit: 20, ttl: "1m", name: "slots" }),
    ];
    const { limiter, near, seen } = start(limits, 10);
    const controller = new AbortController();
    const calls = Array.from({ length: 30 }, () =>
      limiter.wait("u", { signal: controller.signal }).catch(String),
    );
    await pass(15);
    expect(seen.inFlight).toBe(19);
    controller.abort("gone");
    await pass(50);
    const ends = await Promise.all(calls);
    expect(ends.filter((end) => end === "gone")).toHaveLength(29);
    const left = (await near.peek("u", { cost: 0 })).limits;
    expect(left.map(({ remaining }) => remaining)).toEqual([99, 19]);
  });

  test.each([
    ["in this process, at once", true, 100],
    ["in another process, within 250 ms", false, 300],
  ])(
    "a slot that is released during a denied attempt is noticed %s",
    async (_, isHere, admittedAt) => {
      const { limiter, near } = start(concurrency({ limit: 1, ttl: "1m" }), 50);
      const held = await near.consume("u");
      const admitted: number[] = [];
      const from = Date.now();
      void limiter.wait("u").then(() => admitted.push(Date.now() - from));
      await pass(30);
      // Denied at 25 ms; the answer is on its way.
      await near.release(held);
      const { policy } = internalsOf(limiter);
      if (isHere) releasesOf(policy.store.owner).notify(countersOf(policy, "u"));
      await pass(400);
      expect(admitted).toEqual([admittedAt]);
    },
  );
});

describe("a line at its limit", () => {
  test("20 processes that compete for a limit make at most four attempts for each call admitted", async () => {
    const { limiters, seen } = start(fixedWindow({ limit: 100, window: "1s" }), 10, 20);
    let admitted = 0;
    for (const limiter of limiters) {
      for (let i = 0; i < 200; i += 1) void limiter.wait("u").then(() => (admitted += 1));
    }
    await pass(1_900);
    // The first window and the second: each line has learned what it gets.
    expect(admitted).toBe(200);
    const { decides } = seen;
    await pass(10_000);
    expect(admitted).toBe(1_200);
    expect(seen.decides - decides).toBeLessThanOrEqual(4 * 1_000);
    // The first answers said that 80 and more are left.
    expect(decides).toBeLessThanOrEqual(20 * MAX_IN_FLIGHT + 4 * 200);
  });

  test("a thousand calls that end at the same moment cause no attempt", async () => {
    const { limiter, seen } = start(gcra({ limit: 1, window: "1h" }), 10);
    void limiter.wait("u").catch(String);
    const controller = new AbortController();
    const { signal } = controller;
    await pass(20);
    for (let i = 0; i < 998; i += 1) {
      void limiter.wait("u", i % 2 ? { signal } : { timeout: 500 }).catch(String);
    }
    await pass(20);
    expect(seen.decides).toBe(2);
    controller.abort();
    await pass(1_000);
    expect(seen.decides).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([0, 10])(
    "lines that share slots take turns, %i ms from the store, however long each of them is",
    async (distanceMs) => {
      const user = fixedWindow({ limit: 1_000, window: "1h", per: "user" });
      const slots = concurrency({ limit: 1, ttl: "1m", per: "tenant" });
      const { limiter } = start([user, slots], distanceMs);
      const order: string[] = [];
      for (const [user, calls] of [
        ["long", 20],
        ["short", 1],
        ["other", 3],
      ] as const) {
        for (let i = 0; i < calls; i += 1) {
          void limiter.run({ user, tenant: "acme" }, async () => {
            order.push(user);
            await delay(100);
          });
        }
      }
      await pass(10_000);
      expect(order).toHaveLength(24);
      const turns = ["long", "short", "other", "long", "other", "long", "other", "long"];
      expect(order.slice(0, 8)).toEqual(turns);
    },
  );

  test("each slot that is released causes one attempt", async () => {
    const { limiter, seen } = start(concurrency({ limit: 10, ttl: "1m" }), 10);
    const held = await (async () => {
      const all = Array.from({ length: 10 }, () => limiter.consume("u"));
      await pass(10);
      return Promise.all(all);
    })();
    const admitted: number[] = [];
    let from = 0;
    for (let i = 0; i < 100; i += 1) {
      void limiter.wait("u").then(() => admitted.push(Date.now() - from));
    }
    await pass(20);
    const { decides } = seen;
    from = Date.now();
    for (const decision of held) {
      void limiter.release(decision);
      await pass(7);
    }
    await pass(100);
    // Each is released after one round trip, and taken again after another.
    expect(admitted).toEqual(held.map((_, i) => 7 * i + 20));
    // And one after the last of them, which finds no slot.
    expect(seen.decides - decides).toBe(11);
  });
});

/** The limits of a random line. */
const LIMITS: Record<string, Policy> = {
  "a fixed window": fixedWindow({ limit: 7, window: "200ms" }),
  "a sliding log": slidingLog({ limit: 5, window: "100ms" }),
  "an even pace": gcra({ limit: 100, window: "1s", burst: 1 }),
  bursts: gcra({ limit: 300, window: "1s", burst: 100 }),
};

/** The unit of time in which things happen in a random line, in milliseconds. */
interface Event {
  readonly afterMs: number;
  readonly what: "call" | "brief call" | "abort" | "take" | "take briefly" | "wake";
  readonly cost: number;
}

const event: fc.Arbitrary<Event> = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 })),
  what: fc.oneof(
    { weight: 10, arbitrary: fc.constant("call" as const) },
    fc.constantFrom("brief call", "abort", "take", "take briefly", "wake"),
  ),
  cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 3 })),
});

describe("a random line", () => {
  describe.each(Object.keys(LIMITS))("under %s", (name) => {
    const isPaced = name === "an even pace";
    propertyTest.prop(
      [fc.constantFrom(0, 2, 10, 50), fc.array(event, { minLength: 1, maxLength: 80 })],
      { numRuns: 50 },
    )(
      "admits calls in their order, each once, charges no other, and makes few attempts",
      async (distanceMs, events) => {
        const count = slidingLog({ limit: 10_000, window: "1d", name: "count" });
        const { limiter, near, seen } = start([LIMITS[name] as never, count], distanceMs);
        const live = new Map<number, AbortController>();
        const admitted: number[] = [];
        let entered = 0;
        let units = 0;
        let taken = 0;
        let wakes = 1;
        const from = Date.now();
        for (const { afterMs, what, cost: wanted } of events) {
          await pass(afterMs);
          const cost = isPaced ? 1 : wanted;
          if (what === "abort") {
            const [oldest] = live;
            oldest?.[1].abort();
            wakes += 1;
          } else if (what === "take") {
            taken += 1;
            if ((await near.consume("u")).allowed) units += 1;
          } else if (what === "take briefly") {
            // A unit that another process refunds.
            taken += 1;
            const decision = await near.consume("u");
            if (decision.allowed) await near.refund(decision);
          } else if (what === "wake") {
            wakes += 1;
            void limiter.unblock("u");
          } else {
            const id = entered;
            entered += 1;
            const controller = new AbortController();
            live.set(id, controller);
            const timeout = what === "brief call" ? 30 : undefined;
            limiter.wait("u", { cost, signal: controller.signal, timeout }).then(
              () => {
                admitted.push(id);
                units += cost;
                live.delete(id);
              },
              () => {
                live.delete(id);
                wakes += 1;
              },
            );
          }
        }
        while (live.size > 0 && Date.now() - from < 60_000) await pass(50);
        await pass(1_000);
        expect(live.size).toBe(0);
        expect(admitted).toEqual(admitted.toSorted((a, b) => a - b));
        expect(seen.inFlight).toBe(0);
        expect(vi.getTimerCount()).toBe(0);
        const { limits } = await near.peek("u", { cost: 0 });
        expect(10_000 - (limits[1]?.remaining ?? 0)).toBe(units);
        // Each call that is admitted may be followed by one denied attempt, which finds out how long to wait. A unit taken by
        // another process may deny one attempt in flight, and one after a wait that was honest before.
        const allowed = admitted.length + seen.refunds;
        expect(seen.decides).toBeLessThanOrEqual(2 * (allowed + taken + wakes));
        expect(seen.mostInFlight).toBeLessThanOrEqual(MAX_IN_FLIGHT);
      },
    );
  });
});
