import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A breaker that has learned that its target is closed. */
async function learnClosed() {
  const world = holdBreaker({ storeTimeout: "1m", trialCalls: 1 });
  const { breaker, held } = world;
  /** Carries out all that is asked, and lets go on what waits for it. */
  async function answer<T>(asking: Promise<T>): Promise<T> {
    await letRun();
    for (let call = held.shift(); call !== undefined; call = held.shift()) await call.carryOut();
    return asking;
  }
  await answer(breaker.snapshot());
  return { ...world, answer };
}

/** Opens and closes a target elsewhere. */
async function openAndClose({ peer }: Pick<Awaited<ReturnType<typeof learnClosed>>, "peer">) {
  for (let i = 0; i < 4; i += 1) await peer.record("failure");
  await pass(30_000);
  await (await peer.admit()).record("success");
  expect(await peer.snapshot()).toMatchObject({ state: "closed", calls: 0 });
}

describe("outcomes of calls admitted before opening", () => {
  test("outcomes of calls admitted before opening do not count after closing, whenever they are sent", async () => {
    const world = await learnClosed();
    const { breaker, peer, answer } = world;
    const [first, second] = [await breaker.admit(), await breaker.admit()];
    await first.record("failure");
    await openAndClose(world);
    await second.record("failure");
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
    expect(await peer.snapshot()).toMatchObject({ calls: 0 });
    // The next are of the new time.
    await (await breaker.admit()).record("failure");
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1 });
  });

  test("outcomes of calls admitted before opening are not sent once the opening is known", async () => {
    const { breaker, peer, answer, take, held } = await learnClosed();
    const [first, second] = [await breaker.admit(), await breaker.admit()];
    const snapshot = breaker.snapshot();
    await letRun();
    const look = take();
    await first.record("failure");
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await look.carryOut();
    expect(await snapshot).toMatchObject({ state: "open", calls: 4 });
    await second.record("failure");
    await pass(1_000);
    expect(held).toEqual([]);
    await answer(breaker.close());
    expect(held).toEqual([]);
  });

  test("outcomes of calls admitted before a reset in another process do not count", async () => {
    const { breaker, peer, answer } = await learnClosed();
    await (await breaker.admit()).record("failure");
    await peer.reset();
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
  });

  test("outcomes of admitted calls count if the state has not changed", async () => {
    const { breaker, answer } = await learnClosed();
    const permit = await breaker.admit();
    await pass(3_600_000);
    await permit.record("failure");
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1, failures: 1 });
  });

  test("outcomes of admitted calls count if snapshots are read meanwhile", async () => {
    const world = await learnClosed();
    const { breaker, answer } = world;
    await openAndClose(world);
    await answer(breaker.snapshot());
    const permit = await breaker.admit();
    await answer(breaker.snapshot());
    await permit.record("failure");
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1, failures: 1 });
  });

  test("outcomes are sent with the period in which their calls were admitted", async () => {
    const world = await learnClosed();
    const { breaker, answer, take } = world;
    await openAndClose(world);
    await answer(breaker.snapshot());
    await (await breaker.admit()).record("success");
    await pass(250);
    const [admitted, outcomes] = take().words;
    expect(Number(admitted)).toBeGreaterThan(0);
    expect(outcomes).toBe("1 0 0");
  });
});

test("outcomes of calls made without a permit count in the current state", async () => {
  const world = await learnClosed();
  const { breaker, answer, take } = world;
  await breaker.record("failure");
  await openAndClose(world);
  await pass(250);
  const report = take();
  expect(report.words.slice(0, 2)).toEqual(["-1", "1 1 0"]);
  await report.carryOut();
  expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", calls: 1 });
});

test("outcomes of calls made without a permit are sent at close after a state change", async () => {
  const { breaker, peer, answer, take } = await learnClosed();
  const snapshot = breaker.snapshot();
  await letRun();
  await breaker.record("failure");
  await peer.reset();
  await take().carryOut();
  await snapshot;
  await answer(breaker.close());
  expect(await peer.snapshot()).toMatchObject({ calls: 1, failures: 1 });
});

test("an outcome without a permit does not make an earlier period's outcome count", async () => {
  const world = await learnClosed();
  const { breaker, answer } = world;
  const permit = await breaker.admit();
  await permit.record("failure");
  await breaker.record("success");
  await openAndClose(world);
  const { failures } = await answer(breaker.snapshot());
  expect(failures).toBe(0);
});
