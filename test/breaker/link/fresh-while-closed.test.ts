import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { admit, fail } from "./ask-held.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("while closed", () => {
  test("a view of a closed target is used for flushInterval and storeTimeout", async () => {
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

  test("each report refreshes the view, so that steady calls do not wait for the store", async () => {
    const world = holdBreaker();
    await admit(world);
    for (let i = 0; i < 20; i += 1) {
      await world.breaker.record("success");
      await pass(250);
      await world.take().carryOut();
      expect(await admit(world)).toMatchObject({ asked: 0 });
    }
  });

  test("an opening in another process is seen within flushInterval and storeTimeout", async () => {
    const world = holdBreaker();
    await admit(world);
    await fail(world.peer, 4);
    await pass(349);
    expect((await admit(world)).permit.allowed).toBe(true);
    await pass(1);
    expect((await admit(world)).permit).toMatchObject({ allowed: false, state: "open" });
  });

  test("with a flushInterval of 0 each call reads the store", async () => {
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

  test("concurrent calls without a current view share one request", async () => {
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

  test("a clock that stepped back expires the view of a closed target", async () => {
    const world = holdBreaker();
    await admit(world);
    vi.setSystemTime(Date.now() - 1);
    expect(await admit(world)).toMatchObject({ asked: 1 });
    expect(await admit(world)).toMatchObject({ asked: 0 });
  });

  test("on a ramp the share of allowed calls grows with the time since the view was received", async () => {
    const world = holdBreaker({ rampUp: "1s", trialCalls: 1, storeTimeout: "1m" });
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

  test("on a ramp calls that read the store are allowed by its share too", async () => {
    const world = holdBreaker({ rampUp: "1s", trialCalls: 1, flushInterval: 0 });
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
