import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { historiesOf } from "../../../../test/conformance/random/histories.ts";
import { Random } from "../../../../test/conformance/random/random.ts";
import {
  carryOutAll,
  flushMicrotasks,
  holdStore,
  resultOf,
} from "../../../../test/support/held-store.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { CHANNELS } from "../common/publish.ts";
import { createLimiter } from "./create-limiter.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";
import type { PublishedDecision } from "./published-decision.ts";

const thousand = fixedWindow({ limit: 1_000, window: "1h" });

function open(limits: Policy = thousand, options: Partial<LimiterOptions> = {}): Limiter {
  const limiter = createLimiter({ name: "tokens", limits, ...options }) as Limiter;
  onTestFinished(() => limiter.close());
  return limiter;
}

/** The units of the first limit that are used, more than its limit if it is overdrawn. */
async function usedOf(limiter: Limiter, subject = "u"): Promise<number> {
  const { limits } = await limiter.peek(subject, { cost: 0 });
  const [{ limit = 0, remaining = 0, overdrawn = 0 } = {}] = limits;
  return limit - remaining + overdrawn;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a meter", () => {
  test("charges its estimate first, then every so many units, and settles at the units that were used", async () => {
    const limiter = open();
    const meter = await limiter.meter("u", { estimate: 300, every: 100 });
    expect(meter.decision).toMatchObject({ allowed: true, cost: 300 });
    meter.add(300);
    await flushMicrotasks();
    expect(await usedOf(limiter)).toBe(300);
    meter.add(99);
    await flushMicrotasks();
    expect(await usedOf(limiter)).toBe(300);
    meter.add(1);
    await flushMicrotasks();
    expect(await usedOf(limiter)).toBe(400);
    meter.add(30);
    expect(meter.used).toBe(430);
    expect(await meter.end()).toEqual({ charged: 430, overflow: 0, degraded: false });
    expect(await usedOf(limiter)).toBe(430);
  });

  test("refunds what a short stream leaves of its estimate, also in a second end, which changes nothing", async () => {
    const limiter = open();
    const meter = await limiter.meter("u", { estimate: 300, every: 100 });
    meter.add(20);
    const [first, second] = await Promise.all([meter.end(), meter.end()]);
    expect(first).toEqual({ charged: 20, overflow: 0, degraded: false });
    expect(second).toEqual(first);
    expect(await usedOf(limiter)).toBe(20);
  });

  test("charges fewer units than every after 250 ms, by a timer that keeps no process alive", async () => {
    const limiter = open();
    const meter = await limiter.meter("u", { estimate: 10, every: 100 });
    const { setTimeout } = globalThis;
    let timer: NodeJS.Timeout | undefined;
    // A spy would be restored once more after the file, and leave the next one this clock.
    globalThis.setTimeout = ((...given: Parameters<typeof setTimeout>) => {
      timer = setTimeout(...given);
      return timer;
    }) as typeof setTimeout;
    meter.add(15);
    globalThis.setTimeout = setTimeout;
    expect(timer?.hasRef()).toBe(false);
    await vi.advanceTimersByTimeAsync(249);
    expect(await usedOf(limiter)).toBe(10);
    await vi.advanceTimersByTimeAsync(1);
    expect(await usedOf(limiter)).toBe(15);
    await meter.end();
  });

  test("aborts its signal when a charge is denied, and settles the units that came until then", async () => {
    const limiter = open();
    const meter = await limiter.meter("u", { estimate: 900, every: 100 });
    meter.add(1_000);
    await flushMicrotasks();
    expect(meter.signal.aborted).toBe(false);
    meter.add(100);
    await flushMicrotasks();
    expect(meter.signal.reason).toMatchObject({
      code: "HEADGATE_DENIED",
      message: "100 units more were denied",
      cause: { allowed: false, remaining: 0 },
    });
    meter.add(7);
    expect(await meter.end()).toEqual({ charged: 1_107, overflow: 0, degraded: false });
    expect(await usedOf(limiter)).toBe(1_107);
  });

  test("whose estimate is denied has an aborted signal, and charges nothing", async () => {
    const limiter = open();
    const meter = await limiter.meter("u", { estimate: 1_001, every: 100 });
    expect(meter.decision).toMatchObject({ allowed: false, cost: 1_001 });
    expect(meter.signal.reason).toMatchObject({ code: "HEADGATE_DENIED", cause: meter.decision });
    meter.add(500);
    await flushMicrotasks();
    expect(await meter.end()).toEqual({ charged: 0, overflow: 0, degraded: false });
    expect(await usedOf(limiter)).toBe(0);
  });

  test("charges every units in advance without an estimate, and nothing with an estimate of 0", async () => {
    const limiter = open();
    const [ahead, free] = [
      await limiter.meter("u", { every: 40 }),
      await limiter.meter("v", { every: 40, estimate: 0 }),
    ];
    expect([await usedOf(limiter), await usedOf(limiter, "v")]).toEqual([40, 0]);
    free.add(45);
    await flushMicrotasks();
    expect(await usedOf(limiter, "v")).toBe(45);
    expect(await ahead.end()).toMatchObject({ charged: 0 });
    expect(await free.end()).toMatchObject({ charged: 45 });
  });

  test("in shadow mode is never aborted", async () => {
    const limiter = open(thousand, { shadow: true });
    const meter = await limiter.meter("u", { estimate: 900, every: 100 });
    meter.add(5_000);
    await flushMicrotasks();
    expect(meter.signal.aborted).toBe(false);
    expect(await meter.end()).toMatchObject({ charged: 5_000 });
  });

  test("counts and publishes a stream as one request, and its end by a denial as another", async () => {
    const limiter = open();
    const published: boolean[] = [];
    const listen = (message: unknown) =>
      published.push((message as PublishedDecision).decision.allowed);
    subscribe(CHANNELS.decision, listen);
    onTestFinished(() => void unsubscribe(CHANNELS.decision, listen));
    const meter = await limiter.meter("u", { estimate: 100, every: 100 });
    for (let i = 0; i < 9; i += 1) {
      meter.add(100);
      await flushMicrotasks();
    }
    expect(published).toEqual([true]);
    meter.add(500);
    await flushMicrotasks();
    expect(published).toEqual([true, false]);
    await meter.end();
    expect(published).toEqual([true, false]);
  });

  test("sets no block when its stream reaches the limit", async () => {
    const limiter = open(fixedWindow({ limit: 100, window: "1h", block: "1d" }));
    const meter = await limiter.meter("u", { estimate: 100, every: 10 });
    meter.add(150);
    await flushMicrotasks();
    expect(meter.signal.aborted).toBe(true);
    expect((await limiter.peek("u")).blocked).toBe(false);
  });

  test("holds one slot until its end, whatever it charges", async () => {
    const limiter = open([thousand, concurrency({ limit: 2, ttl: "1h", name: "slots" })]);
    const slotsLeft = async () => (await limiter.peek("u", { cost: 0 })).limits[1]?.remaining;
    const meter = await limiter.meter("u", { estimate: 10, every: 10 });
    for (let i = 0; i < 5; i += 1) {
      meter.add(20);
      await flushMicrotasks();
    }
    expect(await slotsLeft()).toBe(1);
    expect(await meter.end()).toMatchObject({ charged: 100 });
    expect(await slotsLeft()).toBe(2);
  });

  test("charges the limits of its call", async () => {
    const limiter = open();
    const limits = fixedWindow({ limit: 50, window: "1h" });
    const meter = await limiter.meter("u", { estimate: 30, every: 10, limits });
    meter.add(60);
    await flushMicrotasks();
    expect(meter.signal.aborted).toBe(true);
    await meter.end();
    expect(await usedOf(limiter)).toBe(60);
  });

  test("ends when its limiter is closed: it is settled before close resolves, and later units are ignored", async () => {
    const limits = thousand;
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({ name: "tokens", limits, store, storeTimeout: "1m" });
    const other = createLimiter({ name: "tokens", limits, store, storeTimeout: "59s" });
    const meter = await resultOf(held, limiter.meter("u", { estimate: 300, every: 100 }));
    meter.add(350);
    await resultOf(held, limiter.close());
    expect(meter.signal.reason).toMatchObject({ code: "HEADGATE_CLOSED" });
    meter.add(500);
    expect(await meter.end()).toMatchObject({ charged: 350 });
    const { remaining } = await resultOf(held, other.peek("u", { cost: 0 }));
    expect(remaining).toBe(650);
    await expect(limiter.meter("u", { every: 1 })).rejects.toMatchObject({
      code: "HEADGATE_CLOSED",
    });
  });

  test("can be paid from a lease, and settles what the lease did not pay", async () => {
    const { store, held } = holdStore(() => 0);
    const name = "tokens";
    const limiter = createLimiter({
      name,
      limits: thousand,
      store,
      storeTimeout: "1m",
      lease: { max: 100, ttl: "10s" },
    });
    const other = createLimiter({ name, limits: thousand, store, storeTimeout: "1m" });
    for (let i = 0; i < 20; i += 1) await resultOf(held, limiter.consume("u"));
    const meter = await resultOf(held, limiter.meter("u", { estimate: 10, every: 10 }));
    for (let i = 0; i < 9; i += 1) {
      meter.add(5);
      await resultOf(held, flushMicrotasks());
    }
    expect(await resultOf(held, meter.end())).toMatchObject({ charged: 45, overflow: 0 });
    await resultOf(held, limiter.close());
    const { remaining } = await resultOf(held, other.peek("u", { cost: 0 }));
    expect(remaining).toBe(1_000 - 20 - 45);
  });

  test("continues with the share of this process while the store is unavailable", async () => {
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({ name: "tokens", limits: thousand, store, localShare: 0.5 });
    const down = new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "refused");
    const refuseAll = async () => {
      await flushMicrotasks();
      for (const call of held.splice(0)) await call.refuse(down);
      await flushMicrotasks();
    };
    const opening = limiter.meter("u", { estimate: 100, every: 100 });
    await refuseAll();
    const meter = await opening;
    expect(meter.decision).toMatchObject({ source: "local", degraded: true });
    meter.add(500);
    await refuseAll();
    expect(meter.signal.aborted).toBe(false);
    meter.add(100);
    await refuseAll();
    expect(meter.signal.aborted).toBe(true);
    expect(await meter.end()).toMatchObject({ charged: 600, degraded: true });
  });

  test.each([
    // The settlement charges all units, because none was counted meanwhile.
    ["allow", { charged: 400, overflow: 0, degraded: false }, 400],
    // The share of this process keeps what it counted.
    ["local", { charged: 400, overflow: 0, degraded: true }, 100],
  ] as const)(
    "with onUnavailable %s, settles in the store what was not counted while it was unavailable",
    async (onUnavailable, result, counted) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
      const { store, held } = holdStore(() => 0);
      const limiter = createLimiter({ name: "tokens", limits: thousand, store, onUnavailable });
      const meter = await resultOf(held, limiter.meter("u", { estimate: 100, every: 100 }));
      meter.add(400);
      await flushMicrotasks();
      await held.shift()?.refuse(new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "refused"));
      // The store answers the next probe.
      for (let ms = 0; ms < 2_000; ms += 50) {
        await carryOutAll(held);
        await vi.advanceTimersByTimeAsync(50);
      }
      expect(await resultOf(held, meter.end())).toEqual(result);
      const { source, remaining } = await resultOf(held, limiter.peek("u", { cost: 0 }));
      expect([source, 1_000 - remaining]).toEqual(["store", counted]);
      await resultOf(held, limiter.close());
    },
  );
});

describe("misuse of a meter", () => {
  test.each([0, -1, 1.5, Number.NaN, "5", undefined])("every: %s is an error", async (every) => {
    await expect(open().meter("u", { every } as never)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("every must be a whole number of units of at least 1, got"),
    });
  });

  test.each([-1, 0.5, "5", null])("an estimate of %s is an error", async (estimate) => {
    await expect(open().meter("u", { every: 1, estimate } as never)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_COST",
    });
  });

  test.each([-1, 0.5, Number.NaN, "5"])(
    "adding %s is an error, and counts nothing",
    async (units) => {
      const meter = await open().meter("u", { every: 1 });
      expect(() => meter.add(units as number)).toThrow(
        expect.objectContaining({ code: "HEADGATE_INVALID_COST" }),
      );
      expect(await meter.end()).toMatchObject({ charged: 0 });
    },
  );

  test("adding units after the end is an error", async () => {
    const meter = await open().meter("u", { every: 1 });
    await meter.end();
    expect(() => meter.add(1)).toThrow(expect.objectContaining({ code: "HEADGATE_CLOSED" }));
  });

  test.each<[name: string, limiter: () => Limiter, options: object]>([
    ["an unknown option", open, { every: 1, cost: 5 }],
    ["concurrency limits only", () => open(concurrency({ limit: 5, ttl: "1m" })), { every: 1 }],
    [
      'blockOn: "settle"',
      () => open(fixedWindow({ limit: 5, window: "1h", block: "1h" }), { blockOn: "settle" }),
      { every: 1 },
    ],
    [
      "limits of another shape with slots",
      open,
      { every: 1, limits: [thousand, concurrency({ limit: 5, ttl: "1m" })] },
    ],
  ])("%s is an error", async (_, limiter, options) => {
    await expect(limiter().meter("u", options as never)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
    });
  });
});

/** Streams of the property, one for each history: ten thousand in the long run. */
const STREAMS = historiesOf(1_000, 10_000);

test("random streams overshoot by at most every and what arrives during calls, and are charged exactly what they used", async () => {
  let aborted = 0;
  for (let history = 0; history < STREAMS; history += 1) {
    if (await isAborted(new Random(20_261_128, history), `history ${history}`)) aborted += 1;
  }
  expect(aborted).toBeGreaterThan(STREAMS / 10);
  expect(aborted).toBeLessThan((STREAMS * 9) / 10);
}, 300_000);

/** Meters one stream, beside which others charge the same limit. Returns whether it was aborted. */
async function isAborted(random: Random, name: string): Promise<boolean> {
  const { store, held } = holdStore(() => 0);
  const limit = random.whole(50, 1_500);
  const limits = random.pick([
    fixedWindow({ limit, window: "1h" }),
    slidingLog({ limit, window: "1h" }),
    gcra({ limit, window: "366d" }),
  ]);
  const limiter = createLimiter({ name, limits, store, storeTimeout: "1m", denyCache: false });
  const decided = <T>(pending: Promise<T>) => resultOf(held, pending);
  const every = random.whole(1, 80);
  const estimate = random.whole(0, 200);
  const meter = await decided(limiter.meter("u", { estimate, every }));
  const largest = random.whole(1, 120);
  let used = 0;
  let others = 0;
  let [during, before] = [0, 0];
  /** The units of the stream that are not charged; negative while the estimate is not used up. */
  const uncharged = async () => used - ((await decided(usedOfHeld())) - others);
  const usedOfHeld = async () => {
    const [state] = (await limiter.peek("u", { cost: 0 })).limits;
    return limit - Number(state?.remaining) + Number(state?.overdrawn);
  };
  for (let step = random.whole(5, 40); step > 0 && !meter.signal.aborted; step -= 1) {
    const units = random.whole(0, largest);
    const wasCharging = held.length > 0;
    meter.add(units);
    used += units;
    if (random.chance(0.1)) vi.advanceTimersByTime(250);
    await flushMicrotasks();
    if (wasCharging) during += units;
    expect(held.length, name).toBeLessThanOrEqual(1);
    if (held.length === 0) {
      const missing = await uncharged();
      expect(missing, name).toBeLessThan(every);
    } else if (random.chance(0.4)) {
      const call = held.shift();
      if (random.chance(0.3)) {
        const more = random.whole(1, 60);
        const charge = limiter.charge("u", { cost: more });
        await flushMicrotasks();
        await held.pop()?.carryOut();
        others += (await charge).charged;
      }
      await call?.execute();
      await call?.deliver();
      await flushMicrotasks();
      if (meter.signal.aborted) {
        const most = Math.max(every - 1 + largest, before) + during;
        expect(await uncharged(), name).toBeLessThanOrEqual(most);
        expect(meter.signal.reason).toMatchObject({ code: "HEADGATE_DENIED" });
      }
      [before, during] = [during, 0];
    }
  }
  const wasAborted = meter.signal.aborted;
  const { charged } = await decided(meter.end());
  if (meter.decision.allowed) {
    expect(charged, name).toBe(used);
    expect(await uncharged(), name).toBe(0);
  }
  await decided(limiter.close());
  return wasAborted;
}
