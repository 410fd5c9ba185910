import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";
import { recordWarnings } from "./record-warnings.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A breaker without a view that requests a call of a half-open target, and stops waiting for the reply. */
async function requestTooLate() {
  recordWarnings();
  const world = holdBreaker({ trialCalls: 1, storeTimeout: 100, trialCallTimeout: "1d" });
  const { breaker, peer, held, take } = world;
  for (let i = 0; i < 4; i += 1) await peer.record("failure");
  await advance(30_000);
  const pending = breaker.admit();
  await flushMicrotasks();
  const request = take();
  await advance(110);
  expect(await pending).toMatchObject({ allowed: true, degraded: true });
  held.length = 0;
  return { ...world, request };
}

test("a trial call lease that arrives after storeTimeout is released at once", async () => {
  const { peer, take, request } = await requestTooLate();
  await request.execute();
  expect((await peer.admit()).allowed).toBe(false);
  await request.deliver();
  // This does not depend on whether the store is known to be available again.
  const release = take();
  expect(release.args.slice(3)).toEqual(["-1", "0"]);
  await release.complete();
  // The peer's view without a free trial slot is fresh for a second.
  await advance(1_000);
  expect((await peer.admit()).allowed).toBe(true);
});

test("a trial call lease that arrives late is released although other replies were in time", async () => {
  const { breaker, peer, held, take } = holdBreaker({ trialCalls: 1, trialCallTimeout: "1d" });
  for (let i = 0; i < 4; i += 1) await peer.record("failure");
  await advance(30_000);
  const pending = breaker.admit();
  await flushMicrotasks();
  const request = take();
  await advance(50);
  const looking = breaker.for("eu").snapshot();
  await flushMicrotasks();
  const look = take();
  await advance(45);
  await look.complete();
  await looking;
  await advance(15);
  expect(await pending).toMatchObject({ degraded: true });
  await request.complete();
  expect(held.map(({ args }) => args.slice(3))).toEqual([["-1", "0"]]);
  await held.shift()?.complete();
  expect((await peer.admit()).allowed).toBe(true);
});

test("a late reply without a lease releases nothing", async () => {
  const { breaker, peer, held, take, request } = await requestTooLate();
  await peer.reset();
  await request.complete();
  for (let i = 0; i < 50; i += 1) {
    await advance(100);
    for (const call of held.splice(0)) {
      expect(call.operation).toBe("probe");
      await call.complete();
    }
  }
  const look = breaker.snapshot();
  await flushMicrotasks();
  await take().complete();
  await look;
  expect(held).toEqual([]);
});
