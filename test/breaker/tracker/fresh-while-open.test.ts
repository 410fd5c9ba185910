import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { admitHeld, fail } from "./admit-held.ts";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";

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
    expect((await admitHeld(world)).permit).toMatchObject({ allowed: false, retryAfterMs: 30_000 });
    return world;
  }

  test("an open target rejects calls without reading the store", async () => {
    const { breaker, held } = await learnOpening();
    for (let i = 0; i < 100; i += 1) {
      expect(await breaker.run(() => "real", { fallback: () => "cached" })).toBe("cached");
    }
    await advance(999);
    await expect(breaker.run(() => "real")).rejects.toMatchObject({ retryAfterMs: 29_001 });
    expect(held).toEqual([]);
  });

  test("an open target is refreshed once a second while calls come, and no call waits", async () => {
    const { breaker, held, take } = await learnOpening();
    await advance(1_000);
    for (let i = 0; i < 100; i += 1) expect((await breaker.admit()).allowed).toBe(false);
    await flushMicrotasks();
    const look = take();
    expect(look.args).toEqual(["-1", "", "0", "0", "0"]);
    // However long that takes.
    await advance(5_000);
    expect((await breaker.admit()).allowed).toBe(false);
    await flushMicrotasks();
    expect(held).toEqual([]);
    await look.complete();
    await advance(999);
    await breaker.admit();
    await flushMicrotasks();
    expect(held).toEqual([]);
    await advance(1);
    await breaker.admit();
    await flushMicrotasks();
    expect(held).toHaveLength(1);
  });

  test("a reset in another process is seen after a second and a refresh", async () => {
    const { breaker, peer, take } = await learnOpening();
    await peer.reset();
    await advance(1_000);
    expect((await breaker.admit()).allowed).toBe(false);
    await flushMicrotasks();
    await take().complete();
    expect(await breaker.admit()).toMatchObject({ allowed: true, state: "closed" });
  });

  test("an open target without calls is not refreshed", async () => {
    const { held } = await learnOpening();
    await advance(29_999);
    expect(held).toEqual([]);
  });

  test("each call after openFor requests its own trial call", async () => {
    const { breaker, held } = await learnOpening();
    await advance(29_999);
    await breaker.admit();
    await flushMicrotasks();
    await held.shift()?.complete();
    await advance(1);
    const pending = Promise.all(Array.from({ length: 5 }, () => breaker.admit()));
    await flushMicrotasks();
    expect(held.map(({ args }) => args)).toEqual(new Array(5).fill(["-1", "", "0", "0", "1"]));
    for (const call of held.splice(0)) await call.complete();
    expect((await pending).map(({ allowed }) => allowed)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  test("a clock that stepped back expires the view of an open target", async () => {
    const world = await learnOpening();
    vi.setSystemTime(Date.now() - 1);
    expect((await admitHeld(world)).storeCalls).toBe(1);
  });
});
