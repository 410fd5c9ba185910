import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";

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
  /** Completes all held calls, and returns the result that was pending. */
  async function withReplies<T>(pending: Promise<T>): Promise<T> {
    await flushMicrotasks();
    for (let call = held.shift(); call !== undefined; call = held.shift()) await call.complete();
    return pending;
  }
  await withReplies(breaker.snapshot());
  return { ...world, withReplies };
}

/** Opens and closes a target elsewhere. */
async function openAndClose({ peer }: Pick<Awaited<ReturnType<typeof learnClosed>>, "peer">) {
  for (let i = 0; i < 4; i += 1) await peer.record("failure");
  await advance(30_000);
  await (await peer.admit()).record("success");
  expect(await peer.snapshot()).toMatchObject({ state: "closed", calls: 0 });
}

describe("outcomes of calls admitted before opening", () => {
  test("outcomes of calls admitted before opening do not count after closing, whenever they are sent", async () => {
    const world = await learnClosed();
    const { breaker, peer, withReplies } = world;
    const [first, second] = [await breaker.admit(), await breaker.admit()];
    await first.record("failure");
    await openAndClose(world);
    await second.record("failure");
    expect(await withReplies(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
    expect(await peer.snapshot()).toMatchObject({ calls: 0 });
    // The next are of the new time.
    await (await breaker.admit()).record("failure");
    expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 1 });
  });

  test("outcomes of calls admitted before opening are not sent once the opening is known", async () => {
    const { breaker, peer, withReplies, take, held } = await learnClosed();
    const [first, second] = [await breaker.admit(), await breaker.admit()];
    const snapshot = breaker.snapshot();
    await flushMicrotasks();
    const look = take();
    await first.record("failure");
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await look.complete();
    expect(await snapshot).toMatchObject({ state: "open", calls: 4 });
    await second.record("failure");
    await advance(1_000);
    expect(held).toEqual([]);
    await withReplies(breaker.close());
    expect(held).toEqual([]);
  });

  test("outcomes of calls admitted before a reset in another process do not count", async () => {
    const { breaker, peer, withReplies } = await learnClosed();
    await (await breaker.admit()).record("failure");
    await peer.reset();
    expect(await withReplies(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
  });

  test("outcomes of admitted calls count if the state has not changed", async () => {
    const { breaker, withReplies } = await learnClosed();
    const permit = await breaker.admit();
    await advance(3_600_000);
    await permit.record("failure");
    expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 1, failures: 1 });
  });

  test("outcomes of admitted calls count if snapshots are read meanwhile", async () => {
    const world = await learnClosed();
    const { breaker, withReplies } = world;
    await openAndClose(world);
    await withReplies(breaker.snapshot());
    const permit = await breaker.admit();
    await withReplies(breaker.snapshot());
    await permit.record("failure");
    expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 1, failures: 1 });
  });

  test("outcomes are sent with the period in which their calls were admitted", async () => {
    const world = await learnClosed();
    const { breaker, withReplies, take } = world;
    await openAndClose(world);
    await withReplies(breaker.snapshot());
    await (await breaker.admit()).record("success");
    await advance(250);
    const [admitted, outcomes] = take().args;
    expect(Number(admitted)).toBeGreaterThan(0);
    expect(outcomes).toBe("1 0 0");
  });
});

test("outcomes of calls made without a permit count in the current state", async () => {
  const world = await learnClosed();
  const { breaker, withReplies, take } = world;
  await breaker.record("failure");
  await openAndClose(world);
  await advance(250);
  const report = take();
  expect(report.args.slice(0, 2)).toEqual(["-1", "1 1 0"]);
  await report.complete();
  expect(await withReplies(breaker.snapshot())).toMatchObject({ state: "closed", calls: 1 });
});

test("outcomes of calls made without a permit are sent at close after a state change", async () => {
  const { breaker, peer, withReplies, take } = await learnClosed();
  const snapshot = breaker.snapshot();
  await flushMicrotasks();
  await breaker.record("failure");
  await peer.reset();
  await take().complete();
  await snapshot;
  await withReplies(breaker.close());
  expect(await peer.snapshot()).toMatchObject({ calls: 1, failures: 1 });
});

test("an outcome without a permit does not make an earlier period's outcome count", async () => {
  const world = await learnClosed();
  const { breaker, withReplies } = world;
  const permit = await breaker.admit();
  await permit.record("failure");
  await breaker.record("success");
  await openAndClose(world);
  const { failures } = await withReplies(breaker.snapshot());
  expect(failures).toBe(0);
});
