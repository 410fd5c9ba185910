import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hearWarnings } from "./hear-warnings.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A breaker that knows nothing, asks for a call of a target that is half-open, and gives up waiting for the answer. */
async function askTooLate() {
  hearWarnings();
  const world = holdBreaker({ trialCalls: 1, storeTimeout: 100, trialCallTimeout: "1d" });
  const { breaker, peer, held, take } = world;
  for (let i = 0; i < 4; i += 1) await peer.record("failure");
  await pass(30_000);
  const asking = breaker.admit();
  await letRun();
  const ask = take();
  await pass(110);
  expect(await asking).toMatchObject({ allowed: true, degraded: true });
  held.length = 0;
  return { ...world, ask };
}

test("a trial call lease that arrives after storeTimeout is released at once", async () => {
  const { peer, take, ask } = await askTooLate();
  await ask.execute();
  expect((await peer.admit()).allowed).toBe(false);
  await ask.deliver();
  // Whether or not the store is known by now to answer again.
  const giveBack = take();
  expect(giveBack.words.slice(3)).toEqual(["-1", "0"]);
  await giveBack.carryOut();
  // The peer remembers for a second that no place was free.
  await pass(1_000);
  expect((await peer.admit()).allowed).toBe(true);
});

test("a trial call lease that arrives late is released although other replies were in time", async () => {
  const { breaker, peer, held, take } = holdBreaker({ trialCalls: 1, trialCallTimeout: "1d" });
  for (let i = 0; i < 4; i += 1) await peer.record("failure");
  await pass(30_000);
  const asking = breaker.admit();
  await letRun();
  const ask = take();
  await pass(50);
  const looking = breaker.for("eu").snapshot();
  await letRun();
  const look = take();
  await pass(45);
  await look.carryOut();
  await looking;
  await pass(15);
  expect(await asking).toMatchObject({ degraded: true });
  await ask.carryOut();
  expect(held.map(({ words }) => words.slice(3))).toEqual([["-1", "0"]]);
  await held.shift()?.carryOut();
  expect((await peer.admit()).allowed).toBe(true);
});

test("a late reply without a lease releases nothing", async () => {
  const { breaker, peer, held, take, ask } = await askTooLate();
  await peer.reset();
  await ask.carryOut();
  for (let i = 0; i < 50; i += 1) {
    await pass(100);
    for (const call of held.splice(0)) {
      expect(call.step).toBe("probe");
      await call.carryOut();
    }
  }
  const look = breaker.snapshot();
  await letRun();
  await take().carryOut();
  await look;
  expect(held).toEqual([]);
});
