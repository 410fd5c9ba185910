import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { admitHeld, fail } from "./admit-held.ts";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("while closed", () => {
  test("a view of a closed target is used for flushInterval and storeTimeout", async () => {
    const world = holdBreaker({ flushInterval: 250, storeTimeout: 100 });
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 1, permit: { allowed: true } });
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 0 });
    await advance(349);
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 0 });
    await advance(1);
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 1 });
    await advance(349);
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 0 });
  });

  test("each report refreshes the view, so that steady calls do not wait for the store", async () => {
    const world = holdBreaker();
    await admitHeld(world);
    for (let i = 0; i < 20; i += 1) {
      await world.breaker.record("success");
      await advance(250);
      await world.take().complete();
      expect(await admitHeld(world)).toMatchObject({ storeCalls: 0 });
    }
  });

  test("an opening in another process is seen within flushInterval and storeTimeout", async () => {
    const world = holdBreaker();
    await admitHeld(world);
    await fail(world.peer, 4);
    await advance(349);
    expect((await admitHeld(world)).permit.allowed).toBe(true);
    await advance(1);
    expect((await admitHeld(world)).permit).toMatchObject({ allowed: false, state: "open" });
  });

  test("with a flushInterval of 0 each call reads the store", async () => {
    const world = holdBreaker({ flushInterval: 0 });
    for (let i = 0; i < 3; i += 1) expect(await admitHeld(world)).toMatchObject({ storeCalls: 1 });
    const together = Promise.all([world.breaker.admit(), world.breaker.admit()]);
    await flushMicrotasks();
    expect(world.held).toHaveLength(2);
    for (const call of world.held.splice(0)) await call.complete();
    await together;
    await fail(world.peer, 4);
    expect((await admitHeld(world)).permit.allowed).toBe(false);
  });

  test("concurrent calls without a current view share one request", async () => {
    const { breaker, take } = holdBreaker();
    for (const round of ["nothing", "nothing new"]) {
      const pending = Promise.all(Array.from({ length: 100 }, () => breaker.run(() => round)));
      await flushMicrotasks();
      await take().complete();
      expect(await pending).toEqual(new Array(100).fill(round));
      await advance(250);
      await take().complete();
      await advance(350);
    }
  });

  test("a clock that stepped back expires the view of a closed target", async () => {
    const world = holdBreaker();
    await admitHeld(world);
    vi.setSystemTime(Date.now() - 1);
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 1 });
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 0 });
  });

  test("on a ramp the share of allowed calls grows with the time since the view was received", async () => {
    const world = holdBreaker({ rampUp: "1s", trialCalls: 1, storeTimeout: "1m" });
    await fail(world.peer, 4);
    await advance(30_000);
    await (await world.peer.admit()).record("success");
    await admitHeld(world);
    const share = async () => {
      const permits = await Promise.all(Array.from({ length: 100 }, () => world.breaker.admit()));
      return permits.filter(({ allowed }) => allowed).length;
    };
    expect(await share()).toBe(10);
    await advance(500);
    expect(await share()).toBe(55);
    await advance(500);
    expect(await share()).toBe(100);
    expect(world.held).toEqual([]);
  });

  test("on a ramp calls that read the store are allowed by its share too", async () => {
    const world = holdBreaker({ rampUp: "1s", trialCalls: 1, flushInterval: 0 });
    await fail(world.peer, 4);
    await advance(30_000);
    await (await world.peer.admit()).record("success");
    let through = 0;
    for (let i = 0; i < 100; i += 1) {
      const { storeCalls, permit } = await admitHeld(world);
      expect([storeCalls, permit.state]).toEqual([1, "closed"]);
      if (permit.allowed) through += 1;
    }
    expect(through).toBe(10);
  });
});
