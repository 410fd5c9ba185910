import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { admitHeld } from "./admit-held.ts";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";

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
      await admitHeld(world);
      await world.peer[order]();
      await advance(350);
      expect(await admitHeld(world)).toMatchObject({ storeCalls: 1, permit: { allowed, state } });
      expect(await admitHeld(world)).toMatchObject({ storeCalls: 0, permit: { allowed, state } });
      await world.peer.reset();
      await advance(350);
      expect(await admitHeld(world)).toMatchObject({ storeCalls: 1, permit: { state: "closed" } });
    },
  );

  test("a reset in another process is seen by a process that only records outcomes", async () => {
    const { breaker, peer, held } = holdBreaker({ storeTimeout: "1m" });
    await peer.disable();
    for (const expected of [0, 1]) {
      if (expected === 1) await peer.reset();
      for (let i = 0; i < 4; i += 1) {
        await breaker.record("success");
        await advance(1_000);
        for (const call of held.splice(0)) await call.complete();
      }
      expect((await peer.snapshot()).calls).toBeGreaterThanOrEqual(expected);
    }
  });

  test("a manual state change applies in its own process at once", async () => {
    const world = holdBreaker();
    const forcing = world.breaker.forceOpen();
    await flushMicrotasks();
    const change = world.take();
    expect(change).toMatchObject({ operation: "set-target-state", args: ["3", "0", "0", "0"] });
    await change.complete();
    await forcing;
    expect(await admitHeld(world)).toMatchObject({ storeCalls: 0, permit: { allowed: false } });
  });
});
