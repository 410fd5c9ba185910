import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { recordBreakerEvents } from "../../support/record-breaker-events.ts";
import { hearWarnings } from "./hear-warnings.ts";
import { letRun, pass } from "./held-breaker.ts";
import { loseBreaker, refused } from "./losable-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("while the store is unavailable", () => {
  test("calls continue during an outage, which is published once per target", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = loseBreaker();
    const heard = recordBreakerEvents();
    const degraded = (target: string) => [
      "degraded",
      { breaker: "payments", target, reason: refused },
    ];
    failWith(refused);
    expect(await answer(breaker.admit())).toMatchObject({ allowed: true, degraded: true });
    expect(await answer(breaker.run(() => "fine"))).toBe("fine");
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1, degraded: true });
    expect(heard).toEqual([degraded("default")]);
    await answer(breaker.for("eu").admit());
    expect(heard).toEqual([degraded("default"), degraded("eu")]);
    failWith(undefined);
    expect(await answer(breaker.snapshot())).toMatchObject({ degraded: false });
    failWith(refused);
    await answer(breaker.admit());
    expect(heard).toEqual([degraded("default"), degraded("eu"), degraded("default")]);
  });

  test("an outage opens no breaker, and the process's own failures do", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = loseBreaker();
    const heard = recordBreakerEvents();
    failWith(refused);
    for (let i = 0; i < 20; i += 1) {
      expect((await answer(breaker.admit())).allowed).toBe(true);
    }
    for (let i = 0; i < 4; i += 1) await answer(breaker.record("failure"));
    expect(await answer(breaker.admit())).toMatchObject({
      allowed: false,
      state: "open",
      retryAfterMs: 30_000,
      degraded: true,
    });
    expect(heard.slice(1)).toMatchObject([
      [
        "state",
        { from: "closed", to: "open", causedHere: true, calls: 4, openings: 1, degraded: true },
      ],
      ["rejected", { state: "open", degraded: true }],
    ]);
    const error = await answer(breaker.run(() => 1)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "HEADGATE_BREAKER_OPEN", degraded: true });
  });

  test("a process starts an outage with its own earlier counts and the fleet's state", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = loseBreaker();
    for (let i = 0; i < 2; i += 1) await answer(breaker.record("failure"));
    await peer.record("success");
    failWith(refused);
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 2, failures: 2 });
    for (let i = 0; i < 2; i += 1) await answer(breaker.record("failure"));
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "open", openings: 1 });
  });

  test("a target that the fleet opened stays open in an outage for its remaining time, and keeps its backoff", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = loseBreaker({
      openFor: (opened: number) => opened * 10_000,
    });
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await answer(breaker.snapshot());
    failWith(refused);
    await pass(4_000);
    expect(await answer(breaker.snapshot())).toMatchObject({
      state: "open",
      openings: 1,
      retryAfterMs: 6_000,
      degraded: true,
    });
    await pass(6_000);
    const trials = [await answer(breaker.admit()), await answer(breaker.admit())];
    for (const trial of trials) {
      expect(trial).toMatchObject({ allowed: true, state: "half-open", degraded: true });
      await answer(trial.record("failure"));
    }
    expect(await answer(breaker.snapshot())).toMatchObject({ openings: 2, retryAfterMs: 20_000 });
  });

  test.each([
    ["forceOpen", "forced-open"],
    ["disable", "disabled"],
    ["metricsOnly", "metrics-only"],
  ] as const)("%s before an outage holds during it", async (order, state) => {
    hearWarnings();
    const { breaker, answer, failWith } = loseBreaker();
    await answer(breaker[order]());
    failWith(refused);
    expect(await answer(breaker.admit())).toMatchObject({ state, degraded: true });
  });

  test.each([
    ["forceOpen", "forced-open"],
    ["disable", "disabled"],
    ["metricsOnly", "metrics-only"],
    ["reset", "closed"],
  ] as const)(
    "%s during an outage rejects, and holds in this process alone",
    async (order, state) => {
      hearWarnings();
      const { breaker, peer, answer, failWith } = loseBreaker();
      const heard = recordBreakerEvents();
      for (let i = 0; i < 4; i += 1) await answer(breaker.record("failure"));
      failWith(refused);
      await expect(answer(breaker[order]())).rejects.toBe(refused);
      expect(heard.filter(([what]) => what === "degraded")).toHaveLength(1);
      expect(await answer(breaker.admit())).toMatchObject({
        allowed: state !== "forced-open",
        state,
        degraded: true,
      });
      expect(await answer(breaker.snapshot())).toMatchObject({
        state,
        calls: state === "closed" ? 0 : 4,
        openings: 0,
      });
      expect((await peer.snapshot()).state).toBe("open");
      failWith(undefined);
      expect(await answer(breaker.snapshot())).toMatchObject({ state: "open", degraded: false });
    },
  );

  test("the fleet's state applies as soon as the store answers", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = loseBreaker();
    failWith(refused);
    for (let i = 0; i < 4; i += 1) await answer(breaker.record("failure"));
    failWith(undefined);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", degraded: false });
    expect(await answer(breaker.admit())).toMatchObject({ allowed: true, degraded: false });
  });

  test("a manual state change that succeeds ends the outage", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = loseBreaker();
    failWith(refused);
    await answer(breaker.admit());
    failWith(undefined);
    await answer(breaker.forceOpen());
    failWith(refused);
    expect(await answer(breaker.admit())).toMatchObject({ state: "forced-open", degraded: true });
  });
});

test("a call admitted before an outage counts during it", async () => {
  hearWarnings();
  const { breaker, peer, answer, failWith } = loseBreaker();
  await peer.reset();
  const permit = await answer(breaker.admit());
  failWith(refused);
  await answer(breaker.snapshot());
  await answer(permit.record("failure"));
  expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1, degraded: true });
});

describe("calls admitted during an outage", () => {
  test("a call admitted during an outage counts in the fleet after it", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = loseBreaker({ flushInterval: 250 });
    await peer.reset();
    failWith(refused);
    const permit = await answer(breaker.admit());
    expect(permit).toMatchObject({ allowed: true, degraded: true });
    await permit.record("failure");
    failWith(undefined);
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1, degraded: false });
    expect(await peer.snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });

  test("a call admitted during an outage counts if it ends while the store recovers", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith, held } = loseBreaker({ flushInterval: 250 });
    await peer.reset();
    failWith(refused);
    const permits = [await answer(breaker.admit()), await answer(breaker.admit())];
    failWith(undefined);
    const look = breaker.snapshot();
    await letRun();
    await permits[0]?.record("failure");
    await held.shift()?.carryOut();
    expect(await look).toMatchObject({ degraded: false });
    await permits[1]?.record("failure");
    await breaker.record("success");
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 3, failures: 2 });
    expect(await peer.snapshot()).toMatchObject({ calls: 3, failures: 2 });
  });
});
