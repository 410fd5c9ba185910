import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import type { Cost } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { LimiterOptions } from "../limiter/limiter.ts";
import { internalsOf } from "../limiter/limiter-internals.ts";
import { memoryStore } from "../store/memory-store.ts";
import { brandStore, requireStore } from "../store/store.ts";
import type { DisconnectWatch } from "./queue.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A limiter on the faked clock, whose store notes what it is asked, and answers some calls, by their numbers, when a gate opens. */
function start(
  options: Pick<LimiterOptions, "limits" | "maxQueue">,
  gateOf: (call: number) => Promise<void> | undefined = () => undefined,
) {
  const memory = requireStore(memoryStore({ clock: Date.now }));
  const asked: string[] = [];
  const store = brandStore({
    owner: memory.owner,
    prefix: memory.prefix,
    now: memory.now,
    run(operation, call) {
      asked.push(operation.name);
      const reply = memory.run(operation, call);
      return gateOf(asked.length)?.then(() => reply) ?? reply;
    },
  });
  const limiter = createLimiter({ name: "test", store, ...options });
  const { consumeOrWait, policy } = internalsOf(limiter);
  const take = (
    subject: string,
    { timeoutMs = 60_000, cost = 1 as Cost, leaving: disconnect = staying() } = {},
  ) =>
    consumeOrWait(
      policy.groups,
      subject,
      { cost },
      { timeoutMs, watchDisconnect: () => disconnect },
    );
  return { limiter, asked, take };
}

function staying(): DisconnectWatch {
  return { signal: new AbortController().signal, isDisconnected: () => false, stop() {} };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a request that may wait in the queue", () => {
  test("a request that is allowed at once does not wait, and its client is not watched", async () => {
    const { limiter, asked } = start({ limits: gcra({ limit: 1, window: "1s" }) });
    const { consumeOrWait, policy } = internalsOf(limiter);
    const watchDisconnect = vi.fn();
    const turn = consumeOrWait(policy.groups, "u", undefined, { timeoutMs: 1, watchDisconnect });
    expect(await turn).toMatchObject({ decision: { allowed: true }, waitedMs: undefined });
    expect(watchDisconnect).not.toHaveBeenCalled();
    expect(asked).toEqual(["decide"]);
  });

  test("a denied request waits for its retryAfterMs and reports how long it waited", async () => {
    const { limiter, take } = start({ limits: gcra({ limit: 1, window: "1s" }) });
    await limiter.consume("u");
    const turn = take("u");
    await pass(1_000);
    expect(await turn).toMatchObject({ decision: { allowed: true }, waitedMs: 1_000 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a request behind waiting ones makes no call, and is denied with their last denial", async () => {
    const { limiter, asked, take } = start({ limits: slidingLog({ limit: 4, window: "10s" }) });
    await limiter.consume("u", { cost: 2 });
    const large = take("u", { cost: 4 });
    await pass(0);
    asked.length = 0;
    const small = take("u", { cost: 1, timeoutMs: 3_000 });
    await pass(3_000);
    expect(asked).toEqual([]);
    expect(await small).toMatchObject({
      decision: { allowed: false, cost: 1, remaining: 2, retryAfterMs: 7_000 },
      waitedMs: 3_000,
    });
    await pass(7_000);
    expect(await large).toMatchObject({ decision: { allowed: true } });
  });

  test("a request makes no call while the first in its queue is being decided", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const limits = slidingLog({ limit: 4, window: "10s" });
    const { limiter, asked, take } = start({ limits }, (call) => (call === 3 ? gate : undefined));
    await limiter.consume("u", { cost: 3 });
    const large = take("u", { cost: 4 });
    await pass(0);
    const small = take("u", { cost: 1 });
    await pass(0);
    expect(asked).toHaveLength(3);
    open();
    await pass(10_000);
    expect(await large).toMatchObject({ decision: { allowed: true } });
    await pass(10_000);
    expect(await small).toMatchObject({ decision: { allowed: true }, waitedMs: 20_000 });
  });

  test("a request whose wait runs out is denied with the last denial of its queue", async () => {
    const { limiter, take } = start({ limits: fixedWindow({ limit: 4, window: "2s" }) });
    await limiter.consume("u", { cost: 4 });
    // Somebody else takes one unit of each window before the request is attempted.
    for (const ms of [2_000, 4_000]) setTimeout(() => void limiter.consume("u"), ms);
    const turn = take("u", { cost: 4, timeoutMs: 5_000 });
    await pass(5_000);
    expect(await turn).toMatchObject({
      decision: { allowed: false, remaining: 3, retryAfterMs: 1_000 },
      waitedMs: 5_000,
    });
  });

  test("a request that close overtakes before it waits is denied at once", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { limiter, take } = start({ limits: gcra({ limit: 1, window: "1h" }) }, (call) =>
      call === 2 ? gate : undefined,
    );
    await limiter.consume("u");
    const turn = take("u");
    await limiter.close();
    open();
    await pass(0);
    expect(await turn).toMatchObject({ decision: { allowed: false }, waitedMs: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a request behind calls that have room is attempted at once, in its turn", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const limits = fixedWindow({ limit: 5, window: "1s" });
    const { limiter, asked, take } = start({ limits }, (call) => (call === 6 ? gate : undefined));
    await limiter.consume("u", { cost: 5 });
    const first = take("u");
    const second = take("u");
    await pass(1_000);
    expect((await first)?.decision.allowed).toBe(true);
    // The second is being decided, and four units were left before.
    expect(asked).toHaveLength(6);
    const third = take("u");
    await pass(0);
    expect(asked).toHaveLength(7);
    // The attempt for the third was answered first, and admits the second.
    expect(await second).toMatchObject({ decision: { remaining: 2 }, waitedMs: 1_000 });
    open();
    expect(await third).toMatchObject({ decision: { remaining: 3 }, waitedMs: 0 });
  });

  test("a request is denied without a call when 100 wait for its subject, or half of maxQueue", async () => {
    for (const [maxQueue, most] of [
      [undefined, 100],
      [9, 5],
      [1, 1],
    ]) {
      const { limiter, asked, take } = start({
        limits: gcra({ limit: 1, window: "10s" }),
        maxQueue,
      });
      await limiter.consume("u");
      const waiting = Array.from({ length: most as number }, () => take("u"));
      await pass(4_000);
      asked.length = 0;
      expect(await take("u")).toMatchObject({
        decision: { allowed: false, retryAfterMs: 6_000, source: "store" },
        waitedMs: undefined,
      });
      expect(asked).toEqual([]);
      await limiter.close();
      const turns = await Promise.all(waiting);
      expect(turns.every((turn) => turn?.decision.allowed === false)).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  test("a request whose client disconnects leaves the queue at once", async () => {
    const { limiter, take } = start({ limits: gcra({ limit: 1, window: "1s" }), maxQueue: 2 });
    await limiter.consume("u");
    const controller = new AbortController();
    const stop = vi.fn();
    const leaving = {
      signal: controller.signal,
      isDisconnected: () => controller.signal.aborted,
      stop,
    };
    const left = take("u", { leaving });
    await pass(0);
    expect((await take("u"))?.decision.allowed).toBe(false);
    controller.abort();
    const next = take("u");
    await pass(1_000);
    expect(await left).toBeUndefined();
    expect((await next)?.decision.allowed).toBe(true);
    expect(stop).toHaveBeenCalledTimes(1);
  });

  test("an admitted request is refunded if its client has disconnected unnoticed", async () => {
    const { limiter, asked, take } = start({ limits: gcra({ limit: 1, window: "1s" }) });
    await limiter.consume("u");
    const turn = take("u", { leaving: { ...staying(), isDisconnected: () => true } });
    await pass(1_000);
    expect(await turn).toBeUndefined();
    expect(asked.at(-1)).toBe("refund");
    expect((await limiter.consume("u")).allowed).toBe(true);
  });

  test("a waiting request gets a released slot, and releases it if its client has disconnected", async () => {
    const { limiter, take } = start({ limits: concurrency({ limit: 1, ttl: "10m" }) });
    const first = await limiter.consume("u");
    const second = take("u");
    await pass(0);
    await limiter.release(first);
    await pass(0);
    expect(await second).toMatchObject({ decision: { allowed: true }, waitedMs: 0 });
    const third = take("u", { leaving: { ...staying(), isDisconnected: () => true } });
    await pass(0);
    await limiter.release((await second)?.decision as Decision);
    await pass(0);
    expect(await third).toBeUndefined();
    expect((await limiter.peek("u")).allowed).toBe(true);
  });

  test("a request does not wait behind requests for limits that its cost excludes", async () => {
    const hourly = (name: string) => fixedWindow({ limit: 2, window: "1h", name });
    const { limiter, asked, take } = start({ limits: [hourly("requests"), hourly("tokens")] });
    await limiter.consume("u", { cost: { requests: 0, tokens: 2 } });
    void take("u", { cost: { tokens: 1 } });
    const free = await take("u", { cost: { requests: 2, tokens: 0 } });
    expect(free).toMatchObject({ decision: { allowed: true }, waitedMs: undefined });
    void take("u", { cost: { tokens: 0 } });
    await pass(0);
    asked.length = 0;
    const denied = take("u", { cost: { requests: 2, tokens: 0 }, timeoutMs: 5 });
    await pass(5);
    expect(await denied).toMatchObject({
      decision: { allowed: false, cost: { requests: 2 }, limits: [{ name: "requests" }] },
    });
    expect(asked).toEqual([]);
    await limiter.close();
  });

  test("a waiting request sets no block", async () => {
    const block = ["1m"] as const;
    const { limiter, take } = start({ limits: fixedWindow({ limit: 1, window: "2s", block }) });
    await limiter.consume("u");
    const denied = take("u", { timeoutMs: 100 });
    await pass(100);
    expect(await denied).toMatchObject({ decision: { allowed: false, blocked: false } });
    expect((await limiter.peek("u")).blocked).toBe(false);
  });

  test("a request rejects with the error of its attempt", async () => {
    const { take } = start({ limits: gcra({ limit: 1, window: "1s" }) });
    await expect(take("")).rejects.toMatchObject({ code: "HEADGATE_EMPTY_KEY" });
    await expect(take("u", { cost: -1 })).rejects.toMatchObject({ code: "HEADGATE_INVALID_COST" });
  });
});
