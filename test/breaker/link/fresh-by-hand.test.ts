import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { admit } from "./ask-held.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("manual states", () => {
  test.each([
    ["forceOpen", "forced-open", false],
    ["disable", "disabled", true],
    ["metricsOnly", "metrics-only", true],
  ] as const)(
    "%s in another process is seen when the view has expired",
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

  test("a reset in another process is seen by a process that only records outcomes", async () => {
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

  test("a manual state change applies in its own process at once", async () => {
    const world = holdBreaker();
    const ordering = world.breaker.forceOpen();
    await letRun();
    const order = world.take();
    expect(order).toMatchObject({ step: "set-target-state", words: ["3", "0", "0", "0"] });
    await order.carryOut();
    await ordering;
    expect(await admit(world)).toMatchObject({ asked: 0, permit: { allowed: false } });
  });
});
