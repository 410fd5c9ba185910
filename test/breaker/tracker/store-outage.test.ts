import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { recordBreakerEvents } from "../../support/record-breaker-events.ts";
import { createFailingStoreBreaker, storeError } from "./failing-store.ts";
import { advance, flushMicrotasks } from "./held-breaker.ts";
import { recordWarnings } from "./record-warnings.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("while the store is unavailable", () => {
  test("calls continue during an outage, which is published once per target", async () => {
    recordWarnings();
    const { breaker, withReplies, failWith } = createFailingStoreBreaker();
    const events = recordBreakerEvents();
    const degraded = (target: string) => [
      "degraded",
      { breaker: "payments", target, reason: storeError },
    ];
    failWith(storeError);
    expect(await withReplies(breaker.admit())).toMatchObject({ allowed: true, degraded: true });
    expect(await withReplies(breaker.run(() => "fine"))).toBe("fine");
    expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 1, degraded: true });
    expect(events).toEqual([degraded("default")]);
    await withReplies(breaker.for("eu").admit());
    expect(events).toEqual([degraded("default"), degraded("eu")]);
    failWith(undefined);
    expect(await withReplies(breaker.snapshot())).toMatchObject({ degraded: false });
    failWith(storeError);
    await withReplies(breaker.admit());
    expect(events).toEqual([degraded("default"), degraded("eu"), degraded("default")]);
  });

  test("an outage opens no breaker, and the process's own failures do", async () => {
    recordWarnings();
    const { breaker, withReplies, failWith } = createFailingStoreBreaker();
    const events = recordBreakerEvents();
    failWith(storeError);
    for (let i = 0; i < 20; i += 1) {
      expect((await withReplies(breaker.admit())).allowed).toBe(true);
    }
    for (let i = 0; i < 4; i += 1) await withReplies(breaker.record("failure"));
    expect(await withReplies(breaker.admit())).toMatchObject({
      allowed: false,
      state: "open",
      retryAfterMs: 30_000,
      degraded: true,
    });
    expect(events.slice(1)).toMatchObject([
      [
        "state",
        { from: "closed", to: "open", causedHere: true, calls: 4, openings: 1, degraded: true },
      ],
      ["rejected", { state: "open", degraded: true }],
    ]);
    const error = await withReplies(breaker.run(() => 1)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "HEADGATE_BREAKER_OPEN", degraded: true });
  });

  test("a process starts an outage with its own earlier counts and the fleet's state", async () => {
    recordWarnings();
    const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker();
    for (let i = 0; i < 2; i += 1) await withReplies(breaker.record("failure"));
    await peer.record("success");
    failWith(storeError);
    expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 2, failures: 2 });
    for (let i = 0; i < 2; i += 1) await withReplies(breaker.record("failure"));
    expect(await withReplies(breaker.snapshot())).toMatchObject({ state: "open", openings: 1 });
  });

  test("a target that the fleet opened stays open in an outage for its remaining time, and keeps its backoff", async () => {
    recordWarnings();
    const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker({
      openFor: (opened: number) => opened * 10_000,
    });
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await withReplies(breaker.snapshot());
    failWith(storeError);
    await advance(4_000);
    expect(await withReplies(breaker.snapshot())).toMatchObject({
      state: "open",
      openings: 1,
      retryAfterMs: 6_000,
      degraded: true,
    });
    await advance(6_000);
    const trials = [await withReplies(breaker.admit()), await withReplies(breaker.admit())];
    for (const trial of trials) {
      expect(trial).toMatchObject({ allowed: true, state: "half-open", degraded: true });
      await withReplies(trial.record("failure"));
    }
    expect(await withReplies(breaker.snapshot())).toMatchObject({
      openings: 2,
      retryAfterMs: 20_000,
    });
  });

  test.each([
    ["forceOpen", "forced-open"],
    ["disable", "disabled"],
    ["metricsOnly", "metrics-only"],
  ] as const)("%s before an outage holds during it", async (order, state) => {
    recordWarnings();
    const { breaker, withReplies, failWith } = createFailingStoreBreaker();
    await withReplies(breaker[order]());
    failWith(storeError);
    expect(await withReplies(breaker.admit())).toMatchObject({ state, degraded: true });
  });

  test.each([
    ["forceOpen", "forced-open"],
    ["disable", "disabled"],
    ["metricsOnly", "metrics-only"],
    ["reset", "closed"],
  ] as const)(
    "%s during an outage rejects, and holds in this process alone",
    async (order, state) => {
      recordWarnings();
      const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker();
      const events = recordBreakerEvents();
      for (let i = 0; i < 4; i += 1) await withReplies(breaker.record("failure"));
      failWith(storeError);
      await expect(withReplies(breaker[order]())).rejects.toBe(storeError);
      expect(events.filter(([what]) => what === "degraded")).toHaveLength(1);
      expect(await withReplies(breaker.admit())).toMatchObject({
        allowed: state !== "forced-open",
        state,
        degraded: true,
      });
      expect(await withReplies(breaker.snapshot())).toMatchObject({
        state,
        calls: state === "closed" ? 0 : 4,
        openings: 0,
      });
      expect((await peer.snapshot()).state).toBe("open");
      failWith(undefined);
      expect(await withReplies(breaker.snapshot())).toMatchObject({
        state: "open",
        degraded: false,
      });
    },
  );

  test("the fleet's state applies as soon as the store answers", async () => {
    recordWarnings();
    const { breaker, withReplies, failWith } = createFailingStoreBreaker();
    failWith(storeError);
    for (let i = 0; i < 4; i += 1) await withReplies(breaker.record("failure"));
    failWith(undefined);
    expect(await withReplies(breaker.snapshot())).toMatchObject({
      state: "closed",
      degraded: false,
    });
    expect(await withReplies(breaker.admit())).toMatchObject({ allowed: true, degraded: false });
  });

  test("a manual state change that succeeds ends the outage", async () => {
    recordWarnings();
    const { breaker, withReplies, failWith } = createFailingStoreBreaker();
    failWith(storeError);
    await withReplies(breaker.admit());
    failWith(undefined);
    await withReplies(breaker.forceOpen());
    failWith(storeError);
    expect(await withReplies(breaker.admit())).toMatchObject({
      state: "forced-open",
      degraded: true,
    });
  });
});

test("a call admitted before an outage counts during it", async () => {
  recordWarnings();
  const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker();
  await peer.reset();
  const permit = await withReplies(breaker.admit());
  failWith(storeError);
  await withReplies(breaker.snapshot());
  await withReplies(permit.record("failure"));
  expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 1, degraded: true });
});

describe("calls admitted during an outage", () => {
  test("a call admitted during an outage counts in the fleet after it", async () => {
    recordWarnings();
    const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker({
      flushInterval: 250,
    });
    await peer.reset();
    failWith(storeError);
    const permit = await withReplies(breaker.admit());
    expect(permit).toMatchObject({ allowed: true, degraded: true });
    await permit.record("failure");
    failWith(undefined);
    expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 1, degraded: false });
    expect(await peer.snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });

  test("a call admitted during an outage counts if it ends while the store recovers", async () => {
    recordWarnings();
    const { breaker, peer, withReplies, failWith, held } = createFailingStoreBreaker({
      flushInterval: 250,
    });
    await peer.reset();
    failWith(storeError);
    const permits = [await withReplies(breaker.admit()), await withReplies(breaker.admit())];
    failWith(undefined);
    const look = breaker.snapshot();
    await flushMicrotasks();
    await permits[0]?.record("failure");
    await held.shift()?.complete();
    expect(await look).toMatchObject({ degraded: false });
    await permits[1]?.record("failure");
    await breaker.record("success");
    expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 3, failures: 2 });
    expect(await peer.snapshot()).toMatchObject({ calls: 3, failures: 2 });
  });
});
