import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { admit, fail } from "./ask-held.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("while open", () => {
  async function learnOpening() {
    const world = holdBreaker({ storeTimeout: "1m" });
    await fail(world.peer, 4);
    expect((await admit(world)).permit).toMatchObject({ allowed: false, retryAfterMs: 30_000 });
    return world;
  }

  test("an open target rejects calls without reading the store", async () => {
    const { breaker, held } = await learnOpening();
    for (let i = 0; i < 100; i += 1) {
      expect(await breaker.run(() => "real", { fallback: () => "cached" })).toBe("cached");
    }
    await pass(999);
    await expect(breaker.run(() => "real")).rejects.toMatchObject({ retryAfterMs: 29_001 });
    expect(held).toEqual([]);
  });

  test("an open target is refreshed once a second while calls come, and no call waits", async () => {
    const { breaker, held, take } = await learnOpening();
    await pass(1_000);
    for (let i = 0; i < 100; i += 1) expect((await breaker.admit()).allowed).toBe(false);
    await letRun();
    const look = take();
    expect(look.words).toEqual(["-1", "", "0", "0", "0"]);
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

  test("a reset in another process is seen after a second and a refresh", async () => {
    const { breaker, peer, take } = await learnOpening();
    await peer.reset();
    await pass(1_000);
    expect((await breaker.admit()).allowed).toBe(false);
    await letRun();
    await take().carryOut();
    expect(await breaker.admit()).toMatchObject({ allowed: true, state: "closed" });
  });

  test("an open target without calls is not refreshed", async () => {
    const { held } = await learnOpening();
    await pass(29_999);
    expect(held).toEqual([]);
  });

  test("each call after openFor requests its own trial call", async () => {
    const { breaker, held } = await learnOpening();
    await pass(29_999);
    await breaker.admit();
    await letRun();
    await held.shift()?.carryOut();
    await pass(1);
    const asking = Promise.all(Array.from({ length: 5 }, () => breaker.admit()));
    await letRun();
    expect(held.map(({ words }) => words)).toEqual(new Array(5).fill(["-1", "", "0", "0", "1"]));
    for (const call of held.splice(0)) await call.carryOut();
    expect((await asking).map(({ allowed }) => allowed)).toEqual([true, true, false, false, false]);
  });

  test("a clock that stepped back expires the view of an open target", async () => {
    const world = await learnOpening();
    vi.setSystemTime(Date.now() - 1);
    expect((await admit(world)).asked).toBe(1);
  });
});
