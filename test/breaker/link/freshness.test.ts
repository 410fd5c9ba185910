import type { Breaker } from "@headgate/breaker";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { HeldBreaker } from "./held-breaker.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Asks for a call, and carries out what that asks of the store: the permit, and how often the store was asked. */
async function admit({ breaker, held }: HeldBreaker<unknown>) {
  const asking = breaker.admit();
  await letRun();
  const asked = held.length;
  for (let call = held.shift(); call !== undefined; call = held.shift()) await call.carryOut();
  return { asked, permit: await asking };
}

async function fail(breaker: Breaker, calls: number): Promise<void> {
  for (let i = 0; i < calls; i += 1) await breaker.record("failure");
}

describe("while closed", () => {
  test("what was learned is used for flushInterval and storeTimeout, and no longer", async () => {
    const world = holdBreaker({ flushInterval: 250, storeTimeout: 100 });
    expect(await admit(world)).toMatchObject({ asked: 1, permit: { allowed: true } });
    expect(await admit(world)).toMatchObject({ asked: 0 });
    await pass(349);
    expect(await admit(world)).toMatchObject({ asked: 0 });
    await pass(1);
    expect(await admit(world)).toMatchObject({ asked: 1 });
    await pass(349);
    expect(await admit(world)).toMatchObject({ asked: 0 });
  });

  test("each report brings news, so that calls in a row are not held up by the store", async () => {
    const world = holdBreaker();
    await admit(world);
    for (let i = 0; i < 20; i += 1) {
      await world.breaker.record("success");
      await pass(250);
      await world.take().carryOut();
      expect(await admit(world)).toMatchObject({ asked: 0 });
    }
  });

  test("an opening elsewhere is known within that time", async () => {
    const world = holdBreaker();
    await admit(world);
    await fail(world.peer, 4);
    await pass(349);
    expect((await admit(world)).permit.allowed).toBe(true);
    await pass(1);
    expect((await admit(world)).permit).toMatchObject({ allowed: false, state: "open" });
  });

  test("with flushInterval 0 each call asks", async () => {
    const world = holdBreaker({ flushInterval: 0 });
    for (let i = 0; i < 3; i += 1) expect(await admit(world)).toMatchObject({ asked: 1 });
    const together = Promise.all([world.breaker.admit(), world.breaker.admit()]);
    await letRun();
    expect(world.held).toHaveLength(2);
    for (const call of world.held.splice(0)) await call.carryOut();
    await together;
    await fail(world.peer, 4);
    expect((await admit(world)).permit.allowed).toBe(false);
  });

  test("many calls that know nothing, or nothing new, ask once", async () => {
    const { breaker, take } = holdBreaker();
    for (const round of ["nothing", "nothing new"]) {
      const asking = Promise.all(Array.from({ length: 100 }, () => breaker.run(() => round)));
      await letRun();
      await take().carryOut();
      expect(await asking).toEqual(new Array(100).fill(round));
      await pass(250);
      await take().carryOut();
      await pass(350);
    }
  });

  test("a clock that stepped back makes old what was learned", async () => {
    const world = holdBreaker();
    await admit(world);
    vi.setSystemTime(Date.now() - 1);
    expect(await admit(world)).toMatchObject({ asked: 1 });
    expect(await admit(world)).toMatchObject({ asked: 0 });
  });

  test("on a ramp, the share goes by the time that has passed since it was learned", async () => {
    const world = holdBreaker({ ramp: "1s", probes: 1, storeTimeout: "1m" });
    await fail(world.peer, 4);
    await pass(30_000);
    await (await world.peer.admit()).record("success");
    await admit(world);
    const share = async () => {
      const permits = await Promise.all(Array.from({ length: 100 }, () => world.breaker.admit()));
      return permits.filter(({ allowed }) => allowed).length;
    };
    expect(await share()).toBe(10);
    await pass(500);
    expect(await share()).toBe(55);
    await pass(500);
    expect(await share()).toBe(100);
    expect(world.held).toEqual([]);
  });

  test("on a ramp, calls that ask the store are let through by its share as well", async () => {
    const world = holdBreaker({ ramp: "1s", probes: 1, flushInterval: 0 });
    await fail(world.peer, 4);
    await pass(30_000);
    await (await world.peer.admit()).record("success");
    let through = 0;
    for (let i = 0; i < 100; i += 1) {
      const { asked, permit } = await admit(world);
      expect([asked, permit.state]).toEqual([1, "closed"]);
      if (permit.allowed) through += 1;
    }
    expect(through).toBe(10);
  });
});

describe("while open", () => {
  async function learnOpening() {
    const world = holdBreaker({ storeTimeout: "1m" });
    await fail(world.peer, 4);
    expect((await admit(world)).permit).toMatchObject({ allowed: false, retryAfterMs: 30_000 });
    return world;
  }

  test("calls are refused without the store", async () => {
    const { breaker, held } = await learnOpening();
    for (let i = 0; i < 100; i += 1) {
      expect(await breaker.run(() => "real", { fallback: () => "cached" })).toBe("cached");
    }
    await pass(999);
    await expect(breaker.run(() => "real")).rejects.toMatchObject({ retryAfterMs: 29_001 });
    expect(held).toEqual([]);
  });

  test("the store is looked at once a second, when somebody asks, and nobody waits for it", async () => {
    const { breaker, held, take } = await learnOpening();
    await pass(1_000);
    for (let i = 0; i < 100; i += 1) expect((await breaker.admit()).allowed).toBe(false);
    await letRun();
    const look = take();
    expect(look.words).toEqual([-1, "", 0, 0, 0]);
    // However long that takes.
    await pass(5_000);
    expect((await breaker.admit()).allowed).toBe(false);
    await letRun();
    expect(held).toEqual([]);
    await look.carryOut();
    await pass(999);
    await breaker.admit();
    await letRun();
    expect(held).toEqual([]);
    await pass(1);
    await breaker.admit();
    await letRun();
    expect(held).toHaveLength(1);
  });

  test("a reset elsewhere is known within a second, and the look", async () => {
    const { breaker, peer, take } = await learnOpening();
    await peer.reset();
    await pass(1_000);
    expect((await breaker.admit()).allowed).toBe(false);
    await letRun();
    await take().carryOut();
    expect(await breaker.admit()).toMatchObject({ allowed: true, state: "closed" });
  });

  test("nobody who asks at all means that the store is not asked either", async () => {
    const { held } = await learnOpening();
    await pass(29_999);
    expect(held).toEqual([]);
  });

  test("each call asks when the time is up, for a trial call of its own", async () => {
    const { breaker, held } = await learnOpening();
    await pass(29_999);
    await breaker.admit();
    await letRun();
    await held.shift()?.carryOut();
    await pass(1);
    const asking = Promise.all(Array.from({ length: 5 }, () => breaker.admit()));
    await letRun();
    expect(held.map(({ words }) => words)).toEqual(new Array(5).fill([-1, "", 0, 0, 1]));
    for (const call of held.splice(0)) await call.carryOut();
    expect((await asking).map(({ allowed }) => allowed)).toEqual([true, true, false, false, false]);
  });

  test("a clock that stepped back makes old what was learned", async () => {
    const world = await learnOpening();
    vi.setSystemTime(Date.now() - 1);
    expect((await admit(world)).asked).toBe(1);
  });
});

describe("while half-open", () => {
  /** All places are taken by this process. */
  async function takeAllPlaces(options = {}) {
    const world = holdBreaker({ probeTimeout: "10s", ...options });
    await fail(world.peer, 4);
    await pass(30_000);
    const trials = [(await admit(world)).permit, (await admit(world)).permit];
    expect(trials.map(({ allowed }) => allowed)).toEqual([true, true]);
    return { ...world, trials };
  }

  test("that no place is free is remembered as long as what was learned is fresh", async () => {
    const world = await takeAllPlaces();
    expect(await admit(world)).toMatchObject({ asked: 0, permit: { allowed: false } });
    await pass(349);
    expect((await admit(world)).asked).toBe(0);
    await pass(1);
    expect((await admit(world)).asked).toBe(1);
  });

  test("and at the longest for a second", async () => {
    const world = await takeAllPlaces({ storeTimeout: "1m" });
    await pass(999);
    expect((await admit(world)).asked).toBe(0);
    await pass(1);
    expect((await admit(world)).asked).toBe(1);
  });

  test("or until a place is free, because a lease has ended", async () => {
    const world = holdBreaker({ probeTimeout: 1, storeTimeout: "1m", probes: 1 });
    await fail(world.peer, 4);
    await pass(30_000);
    await world.peer.admit();
    // Its process is gone, and its timers with it: only the clock runs.
    vi.setSystemTime(Date.now() + 500);
    expect((await admit(world)).permit).toMatchObject({ allowed: false, retryAfterMs: 501 });
    vi.setSystemTime(Date.now() + 500);
    expect((await admit(world)).asked).toBe(0);
    vi.setSystemTime(Date.now() + 1);
    expect(await admit(world)).toMatchObject({ asked: 1, permit: { allowed: true } });
  });

  test("a place that was given back here is known here at once", async () => {
    const world = await takeAllPlaces();
    const releasing = world.trials[0]?.release();
    await letRun();
    await world.take().carryOut();
    await releasing;
    expect(await admit(world)).toMatchObject({ asked: 1, permit: { allowed: true } });
  });

  test("of many calls that know nothing one makes a trial call, and the others none", async () => {
    const { breaker, peer, take, held } = holdBreaker();
    await fail(peer, 4);
    await pass(30_000);
    const asking = Promise.all(Array.from({ length: 10 }, () => breaker.admit()));
    await letRun();
    await take().carryOut();
    const permits = await asking;
    expect(permits.map(({ allowed }) => allowed)).toEqual([true, ...new Array(9).fill(false)]);
    // The next may make the other.
    const next = breaker.admit();
    await letRun();
    await held.shift()?.carryOut();
    expect(await next).toMatchObject({ allowed: true, state: "half-open" });
  });

  test("a trial call's outcome is sent at once, with its lease, and told when the store has it", async () => {
    const { trials, take, held } = await takeAllPlaces();
    const told: string[] = [];
    const recording = trials[0]?.record("failure").then(() => told.push("told"));
    await letRun();
    const report = take();
    expect(report.words).toEqual([-1, "", expect.any(Number), 1, 0]);
    expect(report.words[2]).toBeGreaterThan(0);
    expect(told).toEqual([]);
    await report.carryOut();
    await recording;
    expect(told).toEqual(["told"]);
    // The first time counts, and the others are not even told.
    await trials[0]?.record("success");
    await trials[0]?.release();
    expect(held).toEqual([]);
  });
});

describe("by hand", () => {
  test.each([
    ["forceOpen", "forced-open", false],
    ["disable", "disabled", true],
    ["metricsOnly", "metrics-only", true],
  ] as const)(
    "%s elsewhere is known when what was learned is old",
    async (order, state, allowed) => {
      const world = holdBreaker();
      await admit(world);
      await world.peer[order]();
      await pass(350);
      expect(await admit(world)).toMatchObject({ asked: 1, permit: { allowed, state } });
      expect(await admit(world)).toMatchObject({ asked: 0, permit: { allowed, state } });
      await world.peer.reset();
      await pass(350);
      expect(await admit(world)).toMatchObject({ asked: 1, permit: { state: "closed" } });
    },
  );

  test("a reset elsewhere is known to those who only record what they called by themselves", async () => {
    const { breaker, peer, held } = holdBreaker({ storeTimeout: "1m" });
    await peer.disable();
    for (const expected of [0, 1]) {
      if (expected === 1) await peer.reset();
      for (let i = 0; i < 4; i += 1) {
        await breaker.record("success");
        await pass(1_000);
        for (const call of held.splice(0)) await call.carryOut();
      }
      expect((await peer.snapshot()).calls).toBeGreaterThanOrEqual(expected);
    }
  });

  test("an order is known here at once", async () => {
    const world = holdBreaker();
    const ordering = world.breaker.forceOpen();
    await letRun();
    const order = world.take();
    expect(order).toMatchObject({ step: "order", words: [3, 0, 0, 0] });
    await order.carryOut();
    await ordering;
    expect(await admit(world)).toMatchObject({ asked: 0, permit: { allowed: false } });
  });
});
