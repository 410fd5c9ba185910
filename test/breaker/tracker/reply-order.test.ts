import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { recordBreakerEvents } from "../../support/record-breaker-events.ts";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A breaker with a report and a snapshot in flight: both were executed, and the target opened between them. */
async function openBetween() {
  const world = holdBreaker({ storeTimeout: "1m" });
  const { breaker, peer, held } = world;
  await breaker.record("success");
  await advance(250);
  const snapshot = breaker.snapshot();
  await flushMicrotasks();
  const [earlier, later] = held.splice(0);
  if (earlier === undefined || later === undefined) throw new Error("two calls are not held");
  await earlier.execute();
  for (let i = 0; i < 4; i += 1) await peer.record("failure");
  await later.execute();
  return { ...world, earlier, later, snapshot };
}

describe("replies out of order", () => {
  test("a late reply does not replace a newer view", async () => {
    const { breaker, earlier, later, snapshot } = await openBetween();
    const events = recordBreakerEvents();
    await later.deliver();
    expect((await snapshot).state).toBe("open");
    await earlier.deliver();
    expect((await breaker.admit()).state).toBe("open");
    expect(events.filter(([what]) => what === "state")).toMatchObject([
      ["state", { from: "closed", to: "open", causedHere: false }],
    ]);
  });

  test("a reply in order replaces the view", async () => {
    const { breaker, earlier, later, snapshot, held } = await openBetween();
    await earlier.deliver();
    expect((await breaker.admit()).allowed).toBe(true);
    await later.deliver();
    await snapshot;
    expect((await breaker.admit()).allowed).toBe(false);
    expect(held).toEqual([]);
  });

  test("a late reply still grants its caller a trial call", async () => {
    const { breaker, peer, held } = holdBreaker({ storeTimeout: "1m" });
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    const first = breaker.snapshot();
    await flushMicrotasks();
    await held.shift()?.complete();
    await first;
    await advance(30_000);
    const pending = [breaker.admit(), breaker.admit(), breaker.admit()];
    await flushMicrotasks();
    const calls = held.splice(0);
    for (const call of calls) await call.execute();
    for (const call of calls.toReversed()) await call.deliver();
    const permits = await Promise.all(pending);
    expect(permits.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    const recording = permits.slice(0, 2).map((permit) => permit.record("success"));
    await flushMicrotasks();
    for (const call of held.splice(0)) await call.complete();
    await Promise.all(recording);
    expect((await peer.snapshot()).state).toBe("closed");
  });

  test("a manual state change outlasts the reply to an earlier request", async () => {
    const { breaker, held } = holdBreaker({ storeTimeout: "1m" });
    const pending = breaker.admit();
    await flushMicrotasks();
    const forcing = breaker.forceOpen();
    await flushMicrotasks();
    const [request, change] = held.splice(0);
    await request?.execute();
    await change?.complete();
    await forcing;
    await request?.deliver();
    await pending;
    expect((await breaker.admit()).state).toBe("forced-open");
  });
});
