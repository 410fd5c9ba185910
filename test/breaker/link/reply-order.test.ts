import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { recordBreakerEvents } from "../../support/record-breaker-events.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A breaker with a report and a snapshot under way: both were carried out, the target opened between them. */
async function openBetween() {
  const world = holdBreaker({ storeTimeout: "1m" });
  const { breaker, peer, held } = world;
  await breaker.record("success");
  await pass(250);
  const snapshot = breaker.snapshot();
  await letRun();
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
    const heard = recordBreakerEvents();
    await later.deliver();
    expect((await snapshot).state).toBe("open");
    await earlier.deliver();
    expect((await breaker.admit()).state).toBe("open");
    expect(heard.filter(([what]) => what === "state")).toMatchObject([
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
    await letRun();
    await held.shift()?.carryOut();
    await first;
    await pass(30_000);
    const asking = [breaker.admit(), breaker.admit(), breaker.admit()];
    await letRun();
    const calls = held.splice(0);
    for (const call of calls) await call.execute();
    for (const call of calls.toReversed()) await call.deliver();
    const permits = await Promise.all(asking);
    expect(permits.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    const recording = permits.slice(0, 2).map((permit) => permit.record("success"));
    await letRun();
    for (const call of held.splice(0)) await call.carryOut();
    await Promise.all(recording);
    expect((await peer.snapshot()).state).toBe("closed");
  });

  test("a manual state change outlasts the reply to an earlier request", async () => {
    const { breaker, held } = holdBreaker({ storeTimeout: "1m" });
    const asking = breaker.admit();
    await letRun();
    const ordering = breaker.forceOpen();
    await letRun();
    const [ask, order] = held.splice(0);
    await ask?.execute();
    await order?.carryOut();
    await ordering;
    await ask?.deliver();
    await asking;
    expect((await breaker.admit()).state).toBe("forced-open");
  });
});
