import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import type { Decision } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { internalsOf } from "../limiter/limiter-internals.ts";
import { memoryStore } from "../store/memory-store.ts";
import { brandStore, requireStore } from "../store/store.ts";
import type { WaitQueue } from "./queue.ts";
import { createWaitQueue } from "./wait-queue.ts";

const DAY = 86_400_000;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A limiter on the faked clock, whose store counts what it is asked and can be made to take its time. */
function start(limits: Policy, maxQueue?: number) {
  const memory = requireStore(memoryStore({ clock: Date.now }));
  const asked: string[] = [];
  let gate: Promise<void> | undefined;
  const store = brandStore({
    owner: memory.owner,
    prefix: memory.prefix,
    now: memory.now,
    async run(operation, call) {
      asked.push(operation.name);
      const reply = await memory.run(operation, call);
      await gate;
      return reply;
    },
  });
  return {
    limiter: createLimiter({ name: "test", limits, store, maxQueue }),
    asked,
    /** From now on answers are on their way until the returned function is called. */
    hold(): () => void {
      let open = (): void => {};
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return () => {
        gate = undefined;
        open();
      };
    },
  };
}

/** What has become of calls, in the order in which it became of them. */
function watch(calls: Record<string, Promise<unknown>>): string[] {
  const seen: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    call.then(
      () => seen.push(name),
      (error) => seen.push(`${name}: ${error?.code ?? error}`),
    );
  }
  return seen;
}

function createQueue(): WaitQueue {
  return createWaitQueue(100_000, {
    undoDecision: async () => {},
    now: () => 0,
    longestSleepMs: Number.POSITIVE_INFINITY,
    track: (attempt) => attempt,
    countWaiting: () => undefined,
  });
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("limiter.wait", () => {
  test("wait admits an allowed request at once", async () => {
    const { limiter, asked } = start(gcra({ limit: 2, window: "1s" }));
    expect(await limiter.wait("u")).toMatchObject({ allowed: true, remaining: 1, cost: 1 });
    expect(asked).toEqual(["decide"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("wait admits calls first come, first served, each as soon as the limit allows", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1s" }));
    const seen = watch({
      a: limiter.wait("u"),
      b: limiter.wait("u"),
      c: limiter.wait("u"),
      d: limiter.wait("u"),
    });
    await pass(0);
    expect(seen).toEqual(["a"]);
    await pass(999);
    expect(seen).toEqual(["a"]);
    await pass(1);
    expect(seen).toEqual(["a", "b"]);
    await pass(2_000);
    expect(seen).toEqual(["a", "b", "c", "d"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a small cost does not overtake a large one that came before it", async () => {
    const { limiter } = start(slidingLog({ limit: 10, window: "10s" }));
    await limiter.consume("u", { cost: 5 });
    const seen = watch({
      large: limiter.wait("u", { cost: 8 }),
      small: limiter.wait("u", { cost: 1 }),
    });
    await pass(9_999);
    expect(seen).toEqual([]);
    await pass(1);
    expect(seen).toEqual(["large", "small"]);
  });

  test("subjects do not wait for each other", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1m" }));
    await limiter.consume("busy");
    const seen = watch({ busy: limiter.wait("busy"), free: limiter.wait("free") });
    await pass(0);
    expect(seen).toEqual(["free"]);
  });

  test("wait asks the store no sooner than after retryAfterMs", async () => {
    const { limiter, asked } = start(fixedWindow({ limit: 1, window: "1h" }));
    await limiter.consume("u");
    asked.length = 0;
    const waits = Array.from({ length: 50 }, () => limiter.wait("u"));
    const seen = watch({ first: waits[0] as Promise<unknown> });
    await pass(3_599_999);
    // The head asked once and sleeps; nobody behind it asks.
    expect(asked).toEqual(["decide"]);
    await pass(1);
    expect(seen).toEqual(["first"]);
    // Admitted, and its successor denied.
    expect(asked).toEqual(["decide", "decide", "decide"]);
  });

  test("wait handles waits longer than a timer's 24.8 days, without calls in between", async () => {
    const { limiter, asked } = start(fixedWindow({ limit: 1, window: "60d" }));
    await limiter.consume("u");
    asked.length = 0;
    const seen = watch({
      patient: limiter.wait("u"),
      brief: limiter.wait("u", { timeout: "55d" }),
    });
    await pass(30 * DAY);
    expect(seen).toEqual([]);
    expect(asked).toEqual(["decide"]);
    await pass(25 * DAY);
    expect(seen).toEqual(["brief: HEADGATE_WAIT_TIMEOUT"]);
    await pass(5 * DAY - 1);
    expect(seen).toHaveLength(1);
    await pass(1);
    expect(seen[1]).toBe("patient");
    expect(asked).toEqual(["decide", "decide"]);
  });

  test("wait rejects exactly at its timeout and charges nothing", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1s" }));
    await limiter.consume("u");
    const seen = watch({ u: limiter.wait("u", { timeout: 400 }) });
    await pass(399);
    expect(seen).toEqual([]);
    await pass(1);
    expect(seen).toEqual(["u: HEADGATE_WAIT_TIMEOUT"]);
    expect(vi.getTimerCount()).toBe(0);
    await pass(600);
    expect((await limiter.consume("u")).allowed).toBe(true);
  });

  test("wait rejects with the signal's reason, before and during the wait", async () => {
    const { limiter, asked } = start(gcra({ limit: 1, window: "1s" }));
    const reason = new Error("the user left");
    await expect(limiter.wait("u", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(asked).toEqual([]);

    await limiter.consume("u");
    const controller = new AbortController();
    const call = limiter.wait("u", { signal: controller.signal });
    const seen = watch({ u: call });
    await pass(500);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(seen).toEqual(["u: Error: the user left"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("wait removes its listener from the signal", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1s" }));
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    await limiter.wait("u", { signal });
    const seen = watch({ late: limiter.wait("u", { signal, timeout: 1 }) });
    await pass(1);
    expect(seen).toEqual(["late: HEADGATE_WAIT_TIMEOUT"]);
    expect(add.mock.calls).toHaveLength(2);
    expect(remove.mock.calls.length).toBe(add.mock.calls.length);
  });

  test("many calls can wait with one signal, without a listener leak warning, and all reject when it aborts", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1h" }));
    await limiter.consume("u");
    const controller = new AbortController();
    const { signal } = controller;
    const calls = Array.from({ length: 50 }, (_, i) => limiter.wait(`u${i % 2 || ""}`, { signal }));
    await expect(calls[1]).resolves.toMatchObject({ allowed: true });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    controller.abort("shutdown");
    const ends = await Promise.allSettled(calls);
    expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(49);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("a signal does not keep finished calls of wait in memory, however they ended", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1s" }));
    const { signal } = new AbortController();
    const ended: WeakRef<object>[] = [];
    const keep = (call: Promise<unknown>): void => {
      call.catch(() => {});
      ended.push(new WeakRef(call));
    };
    keep(limiter.wait("admitted", { signal }));
    keep(limiter.wait("admitted", { signal }));
    keep(limiter.wait("admitted", { signal, timeout: 1 }));
    await limiter.consume("late");
    keep(limiter.wait("late", { signal, timeout: 1 }));
    await pass(1_000);
    await limiter.consume("closed");
    keep(limiter.wait("closed", { signal }));
    await pass(0);
    await limiter.close();
    await pass(1);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    collectGarbage();
    // The last one may still stand in a register.
    expect(ended.filter((call) => call.deref() !== undefined).length).toBeLessThanOrEqual(1);
  });

  test("a call that waits for a slot is admitted when a manual block ends", async () => {
    const { limiter, asked } = start(concurrency({ limit: 1, ttl: "1m" }));
    await limiter.block("u", 300);
    const seen = watch({ a: limiter.wait("u") });
    await pass(299);
    expect(seen).toEqual([]);
    await pass(1);
    expect(seen).toEqual(["a"]);
    expect(asked.filter((step) => step === "decide")).toHaveLength(3);
  });

  test.each<[string, (limiter: Limiter, used: Decision) => Promise<unknown>]>([
    ["a refund", (limiter, used) => limiter.refund(used)],
    ["settling at fewer units", (limiter, used) => limiter.settle(used, 1)],
    ["a reset", (limiter) => limiter.reset("u")],
    [
      "the end of a block",
      async (limiter, used) => {
        await limiter.block("u", "1h");
        await limiter.refund(used);
        await pass(0);
        await limiter.unblock("u");
      },
    ],
  ])("a call that waits for units gets those of %s at once, with one attempt", async (_, act) => {
    const { limiter, asked } = start(fixedWindow({ limit: 2, window: "1h" }));
    const used = await limiter.consume("u", { cost: 2 });
    await limiter.consume("other", { cost: 2 });
    const seen = watch({ a: limiter.wait("u"), other: limiter.wait("other") });
    await pass(0);
    expect(seen).toEqual([]);
    asked.length = 0;
    await act(limiter, used);
    await pass(0);
    expect(seen).toEqual(["a"]);
    // A refund while the subject is blocked causes one, too.
    const attempts = asked.includes("block") ? 2 : 1;
    expect(asked.filter((step) => step === "decide")).toHaveLength(attempts);
  });

  test("an aborted call at the head of the queue does not hold up the others", async () => {
    const { limiter } = start(slidingLog({ limit: 10, window: "10s" }));
    await limiter.consume("u", { cost: 5 });
    const controller = new AbortController();
    const seen = watch({
      large: limiter.wait("u", { cost: 10, signal: controller.signal }),
      small: limiter.wait("u", { cost: 5 }),
    });
    await pass(1_000);
    expect(seen).toEqual([]);
    controller.abort("gone");
    await pass(0);
    expect(seen).toEqual(["large: gone", "small"]);
  });

  test("an aborted call behind the head makes no call to the store", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1s" }));
    await limiter.consume("u");
    const seen = watch({
      a: limiter.wait("u"),
      b: limiter.wait("u", { timeout: 500 }),
      c: limiter.wait("u"),
    });
    await pass(500);
    expect(seen).toEqual(["b: HEADGATE_WAIT_TIMEOUT"]);
    await pass(500);
    expect(seen.slice(1)).toEqual(["a"]);
    await pass(1_000);
    expect(seen.slice(1)).toEqual(["a", "c"]);
  });

  test("an aborted call behind the head is not kept in memory", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "30d" }));
    await limiter.consume("u");
    const head = watch({ head: limiter.wait("u") });
    const left: WeakRef<AbortSignal>[] = [];
    for (let i = 0; i < 100; i += 1) {
      const controller = new AbortController();
      limiter.wait("u", { signal: controller.signal }).catch(() => {});
      controller.abort();
      left.push(new WeakRef(controller.signal));
    }
    await pass(1);
    collectGarbage();
    // The last one may still stand in a register.
    expect(left.filter((signal) => signal.deref() !== undefined).length).toBeLessThanOrEqual(1);
    expect(head).toEqual([]);
  });

  test("at most maxQueue calls wait, over all subjects, and each that leaves makes room for another", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1s" }), 3);
    for (const subject of ["u", "v"]) await limiter.consume(subject);
    const seen = watch({
      a: limiter.wait("u"),
      b: limiter.wait("v"),
      c: limiter.wait("v", { timeout: 10 }),
      d: limiter.wait("w"),
    });
    await pass(0);
    expect(seen).toEqual(["d: HEADGATE_QUEUE_FULL"]);
    await pass(10);
    watch({ e: limiter.wait("u") });
    await expect(limiter.wait("w")).rejects.toMatchObject({ code: "HEADGATE_QUEUE_FULL" });
    await pass(2_000);
    expect(await limiter.wait("w")).toMatchObject({ allowed: true });
  });

  test("1,000 calls can wait by default", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1d" }));
    await limiter.consume("u");
    const calls = Array.from({ length: 1_000 }, () => limiter.wait("u", { timeout: "1s" }));
    const seen = watch(Object.fromEntries(calls.map((call, i) => [i, call])));
    await expect(limiter.wait("u")).rejects.toMatchObject({ code: "HEADGATE_QUEUE_FULL" });
    expect(seen).toEqual([]);
    await pass(1_000);
    expect(seen).toHaveLength(1_000);
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
  });

  test("a queue that is woken as its last call leaves does not take the place of a later one", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1h" }));
    await limiter.consume("u");
    const denied = { decision: await limiter.consume("u"), counters: [], durationMs: undefined };
    const queue = createQueue();
    const kind = { policy: internalsOf(limiter).policy, cost: 1 };
    const call = { key: "u", kind, attempt: async () => denied };
    const controller = new AbortController();
    const { signal } = controller;
    const seen = watch({ first: queue.enter(call, { signal }) });
    await pass(0);
    controller.abort("gone");
    queueMicrotask(() => void queue.enter(call, {}).catch(() => {}));
    queue.wake();
    await pass(0);
    expect(seen).toEqual(["first: gone"]);
    expect(queue.lastDenial("u")).toMatchObject({ decision: denied.decision });
    queue.close(new HeadgateError("HEADGATE_CLOSED", "closed"));
  });

  test.each<[string, (queue: WaitQueue, signal: AbortController) => void]>([
    ["their signal aborts", (_, controller) => controller.abort()],
    ["the queue is closed", (queue) => queue.close(new HeadgateError("HEADGATE_CLOSED", "closed"))],
  ])("100,000 waiting calls end within 1.5 seconds when %s", async (_, end) => {
    vi.useRealTimers();
    const queue = createQueue();
    const controller = new AbortController();
    const { signal } = controller;
    const kind = {
      policy: internalsOf(start(gcra({ limit: 1, window: "1s" })).limiter).policy,
      cost: 1,
    };
    const call = { key: "u", kind, attempt: () => new Promise<never>(() => {}) };
    const calls = Array.from({ length: 100_000 }, () => queue.enter(call, { signal }));
    const settled = Promise.allSettled(calls);
    const begun = performance.now();
    end(queue, controller);
    expect(performance.now() - begun).toBeLessThan(1_500);
    await settled;
  });

  test("wait rejects a cost above the limit at once", async () => {
    const { limiter, asked } = start([
      gcra({ limit: 10, window: "1s" }),
      gcra({ limit: 5, window: "1h" }),
    ]);
    const error = await limiter.wait("u", { cost: 6 }).catch((thrown) => thrown);
    expect(error.code).toBe("HEADGATE_COST_ABOVE_LIMIT");
    expect(error.message).toContain("6");
    expect(error.message).toContain("5-per-1h");
    expect(asked).toEqual([]);
  });

  test("an aborted call leaves its attempt to the next call of the same cost", async () => {
    const { limiter, hold, asked } = start(gcra({ limit: 1, window: "1h" }));
    const release = hold();
    const controller = new AbortController();
    const seen = watch({
      gone: limiter.wait("u", { signal: controller.signal }),
      next: limiter.wait("u"),
    });
    await pass(5);
    controller.abort("gone");
    const late = watch({ late: limiter.wait("u", { timeout: 1 }) });
    release();
    await pass(0);
    expect(seen).toEqual(["gone: gone", "next"]);
    await pass(1);
    expect(late).toEqual(["late: HEADGATE_WAIT_TIMEOUT"]);
    // One unit was there: the attempt of the first call took it, and the second was denied.
    expect(asked).toEqual(["decide", "decide"]);
  });

  test("the charge of an aborted call is refunded before a call of another cost is attempted", async () => {
    const { limiter, hold, asked } = start(gcra({ limit: 2, window: "1h" }));
    const release = hold();
    const controller = new AbortController();
    const seen = watch({
      gone: limiter.wait("u", { signal: controller.signal, cost: 1 }),
      next: limiter.wait("u", { cost: 2 }),
    });
    await pass(5);
    controller.abort("gone");
    await pass(5);
    expect(seen).toEqual(["gone: gone"]);
    release();
    await pass(0);
    expect(asked).toEqual(["decide", "refund", "decide"]);
    expect(seen).toEqual(["gone: gone", "next"]);
  });

  test("close resolves when the charges of the calls that it rejected are refunded", async () => {
    const { limiter, hold, asked } = start(gcra({ limit: 2, window: "1h" }));
    const release = hold();
    const seen = watch({ u: limiter.wait("u") });
    await pass(0);
    const closed = watch({ closed: limiter.close() });
    await pass(0);
    expect(seen).toEqual(["u: HEADGATE_CLOSED"]);
    expect(closed).toEqual([]);
    release();
    await pass(0);
    expect(closed).toEqual(["closed"]);
    expect(asked).toEqual(["decide", "refund"]);
  });

  test("an error of the store rejects the call that it happened to, and the next call asks again", async () => {
    const memory = requireStore(memoryStore({ clock: Date.now }));
    let failures = 1;
    const store = brandStore({
      owner: memory.owner,
      prefix: memory.prefix,
      now: memory.now,
      run: async (operation, call) => {
        if (failures > 0) {
          failures -= 1;
          throw new Error("connection lost");
        }
        return memory.run(operation, call);
      },
    });
    const limiter = createLimiter({
      name: "test",
      limits: gcra({ limit: 1, window: "1s" }),
      store,
    });
    const seen = watch({ a: limiter.wait("u"), b: limiter.wait("u") });
    await pass(0);
    expect(seen).toEqual(["a: Error: connection lost", "b"]);
  });

  test("close rejects all waiting calls and leaves no timer", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1h" }));
    for (const subject of ["u", "v"]) await limiter.consume(subject);
    const seen = watch({
      a: limiter.wait("u", { timeout: "1d" }),
      b: limiter.wait("u"),
      c: limiter.wait("v"),
    });
    await pass(10);
    await limiter.close();
    await pass(0);
    expect(seen.toSorted()).toEqual([
      "a: HEADGATE_CLOSED",
      "b: HEADGATE_CLOSED",
      "c: HEADGATE_CLOSED",
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("calls with several dimensions queue by the combination of their subjects", async () => {
    const { limiter } = start([
      gcra({ limit: 1, window: "1s" }),
      gcra({ limit: 100, window: "1s", per: "tenant" }),
    ]);
    await limiter.consume({ default: "u", tenant: "t" });
    const seen = watch({
      same: limiter.wait({ default: "u", tenant: "t" }),
      other: limiter.wait({ default: "v", tenant: "t" }),
    });
    await pass(0);
    expect(seen).toEqual(["other"]);
    await pass(1_000);
    expect(seen).toEqual(["other", "same"]);
  });
});
