import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  CROSS_SLOT,
  flushMicrotasks,
  holdStore,
  resultOf,
} from "../../../../test/support/held-store.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";

const limits = [
  fixedWindow({ limit: 2, window: "1h", name: "user" }),
  fixedWindow({ limit: 1, window: "1h", name: "tenant", per: "tenant" }),
];
const subject = { default: "u", tenant: "t" };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const TIMEOUT_MS = 100;
const REFUSED_MS = 60;

/** A server in cluster mode, each dimension in a slot of its own; that is not known before a call is refused for it. */
function start() {
  let hasSlots = false;
  const { store, held } = holdStore((key) => (hasSlots ? (key.includes(":tenant:") ? 1 : 2) : 0));
  const options = { name: "api", limits, store, denyCache: false } as const;
  const limiter = createLimiter({ ...options, storeTimeout: TIMEOUT_MS });
  return {
    limiter,
    held,
    findSlots() {
      hasSlots = true;
    },
    /** Refuses the one call that is held, some time after it was made. */
    async refuse() {
      await flushMicrotasks();
      expect(held).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(REFUSED_MS);
      hasSlots = true;
      await held.shift()?.refuse(CROSS_SLOT);
    },
  };
}

/** When something is settled, in milliseconds from now. */
async function timeOf(asked: Promise<unknown>): Promise<number> {
  const since = performance.now();
  const settled = asked.then(
    () => performance.now() - since,
    () => performance.now() - since,
  );
  await vi.advanceTimersByTimeAsync(10 * TIMEOUT_MS);
  return settled;
}

test("a decision refused with CROSSSLOT is made again by hash slot", async () => {
  const { limiter, held, refuse } = start();
  const asked = limiter.consume(subject);
  await refuse();
  expect(held.map(({ name }) => name)).toEqual(["peek", "peek"]);
  const decision = await resultOf(held, asked);
  expect(decision).toMatchObject({ allowed: true, source: "store" });
  expect(decision.limits.map(({ remaining }) => remaining)).toEqual([1, 0]);
});

test("a decision refused with CROSSSLOT waits at most storeTimeout in total, and charges nothing after that", async () => {
  const { limiter, held, refuse } = start();
  const asked = limiter.consume(subject);
  await refuse();
  expect(await timeOf(asked)).toBeCloseTo(TIMEOUT_MS - REFUSED_MS, -1);
  expect(await asked).toMatchObject({ source: "local", degraded: true });
  // Both slots were only looked at by then.
  const looks = held.splice(0).filter(({ name }) => name === "peek");
  expect(looks).toHaveLength(2);
  for (const look of looks) await look.carryOut();
  expect(held.map(({ name }) => name)).not.toContain("decide");
});

test("charges of a cross-slot decision that was given up between its two rounds' replies are refunded", async () => {
  const { limiter, held, findSlots } = start();
  findSlots();
  const asked = limiter.consume(subject);
  await flushMicrotasks();
  await vi.advanceTimersByTimeAsync(REFUSED_MS);
  for (const check of held.splice(0)) await check.carryOut();
  const charges = held.splice(0);
  expect(charges.map(({ name }) => name)).toEqual(["decide", "decide"]);
  // The decision is late, but the calls of its second round are not yet.
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS - REFUSED_MS + 20);
  expect(await asked).toMatchObject({ source: "local" });
  for (const charge of charges) await charge.carryOut();
  expect(held.map(({ name }) => name)).toEqual(["refund", "refund"]);
  for (const refund of held.splice(0)) await refund.carryOut();
  const look = await resultOf(held, limiter.peek(subject, { cost: 0 }));
  expect(look).toMatchObject({ source: "store", limits: [{ remaining: 2 }, { remaining: 1 }] });
});

test("a reset refused with CROSSSLOT is made again in each hash slot", async () => {
  const { limiter, held, refuse } = start();
  await resultOf(held, limiter.consume(subject));
  const reset = limiter.reset(subject);
  await refuse();
  expect(held.map(({ name }) => name)).toEqual(["reset", "reset"]);
  expect(await resultOf(held, reset)).toBe(true);
});

test("a reset refused with CROSSSLOT waits at most storeTimeout in total", async () => {
  const { limiter, refuse } = start();
  const reset = limiter.reset(subject);
  reset.catch(() => {});
  await refuse();
  expect(await timeOf(reset)).toBeCloseTo(TIMEOUT_MS - REFUSED_MS, -1);
  await expect(reset).rejects.toMatchObject({ code: "HEADGATE_STORE_UNAVAILABLE" });
});

test.each(["before", "by"])(
  "a charge made in one call is refunded in each hash slot if the slots become known %s the refund",
  async (when) => {
    const { limiter, held, refuse, findSlots } = start();
    // The user's counter is older than the tenant's.
    await resultOf(held, limiter.consume({ ...subject, tenant: null }));
    const decision = await resultOf(held, limiter.consume(subject));
    if (when === "before") findSlots();
    const refund = limiter.refund(decision);
    if (when === "by") await refuse();
    else await flushMicrotasks();
    expect(held.map(({ name }) => name)).toEqual(["refund", "refund"]);
    expect(await resultOf(held, refund)).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    const look = await resultOf(held, limiter.peek(subject));
    expect(look.limits.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 0],
      [true, 0],
    ]);
  },
);

test("a reset that timed out is not made again when the probe after it is refused", async () => {
  const { limiter, held, findSlots } = start();
  const reset = limiter.reset(subject);
  reset.catch(() => {});
  await vi.advanceTimersByTimeAsync(3 * TIMEOUT_MS);
  await expect(reset).rejects.toMatchObject({ code: "HEADGATE_STORE_UNAVAILABLE" });
  findSlots();
  const [given, probe] = held.splice(0);
  expect([given?.name, probe?.name]).toEqual(["reset", "probe"]);
  await probe?.refuse(CROSS_SLOT);
  expect(held).toEqual([]);
  await limiter.close();
});

test("a call that failed with any other error is not made again, because it may have been executed", async () => {
  const { limiter, held, findSlots } = start();
  const asked = limiter.consume(subject);
  await flushMicrotasks();
  findSlots();
  await held.shift()?.refuse(new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "no"));
  expect(held).toEqual([]);
  expect(await asked).toMatchObject({ source: "local" });
});
