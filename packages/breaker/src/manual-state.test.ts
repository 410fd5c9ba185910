import { describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../test/support/breaker-on-clock.ts";

const A_DAY_MS = 86_400_000;

describe("forceOpen", () => {
  test("forceOpen rejects every call and counts none, for as long as calls come", async () => {
    const { breaker, count, advance } = breakerOnClock();
    await count(2, 0);
    await breaker.forceOpen();
    const call = vi.fn();
    for (let day = 0; day < 30; day += 1) {
      await expect(breaker.run(call)).rejects.toMatchObject({
        code: "HEADGATE_BREAKER_OPEN",
        state: "forced-open",
        retryAfterMs: Number.POSITIVE_INFINITY,
      });
      advance(A_DAY_MS);
    }
    expect(call).not.toHaveBeenCalled();
    await breaker.record("failure");
    expect(await breaker.snapshot()).toMatchObject({
      state: "forced-open",
      calls: 0,
      openings: 0,
      retryAfterMs: 0,
    });
  });

  test("forceOpen keeps the calls of the window", async () => {
    const { breaker, count } = breakerOnClock();
    await count(2, 1);
    await breaker.forceOpen();
    await count(0, 5);
    expect(await breaker.snapshot()).toMatchObject({ calls: 3, failures: 1 });
  });

  test("forceOpen ends after a week without calls", async () => {
    const { breaker, advance } = breakerOnClock();
    await breaker.forceOpen();
    advance(7 * A_DAY_MS - 0.001);
    expect((await breaker.admit()).allowed).toBe(false);
    advance(7 * A_DAY_MS);
    expect((await breaker.admit()).allowed).toBe(true);
  });
});

describe("disable", () => {
  test("disable lets every call through and counts none", async () => {
    const { breaker, count, advance } = breakerOnClock();
    await count(0, 4);
    await breaker.disable();
    for (let i = 0; i < 20; i += 1) {
      const permit = await breaker.admit();
      expect(permit).toMatchObject({ allowed: true, state: "disabled", retryAfterMs: 0 });
      await permit.record("failure");
    }
    await expect(breaker.run(() => Promise.reject("upstream"))).rejects.toBe("upstream");
    expect(await breaker.snapshot()).toMatchObject({ state: "disabled", calls: 4, openings: 0 });
    for (let day = 0; day < 30; day += 1) {
      advance(A_DAY_MS);
      expect((await breaker.admit()).state).toBe("disabled");
    }
  });

  test("disable ends at reset", async () => {
    const { breaker, count } = breakerOnClock();
    await breaker.disable();
    await breaker.reset();
    await count(0, 4);
    expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 4 });
  });
});

describe("metricsOnly", () => {
  test("metricsOnly lets every call through, counts it and never opens", async () => {
    const { breaker, count } = breakerOnClock();
    await count(0, 3);
    await breaker.metricsOnly();
    for (let i = 0; i < 20; i += 1) {
      const permit = await breaker.admit();
      expect(permit).toMatchObject({ allowed: true, state: "metrics-only" });
      await permit.record("failure");
    }
    await count(0, 1);
    expect(await breaker.snapshot()).toMatchObject({
      state: "metrics-only",
      calls: 24,
      successRate: 0,
      openings: 0,
    });
  });
});

describe("reset", () => {
  test.each(["forceOpen", "disable", "metricsOnly"] as const)(
    "reset closes a breaker after %s, and forgets all calls",
    async (order) => {
      const { breaker, count } = breakerOnClock();
      await count(1, 1);
      await breaker[order]();
      await breaker.reset();
      expect(await breaker.snapshot()).toEqual({
        state: "closed",
        calls: 0,
        successes: 0,
        failures: 0,
        slowCalls: 0,
        successRate: null,
        slowCallRate: null,
        openings: 0,
        retryAfterMs: 0,
        degraded: false,
      });
      expect(await breaker.run(() => "real")).toBe("real");
    },
  );

  test("reset closes an open breaker and resets its backoff", async () => {
    const { breaker, count, advance } = breakerOnClock({ openFor: (opened) => opened * 1_000 });
    await count(0, 4);
    advance(1_000);
    for (let i = 0; i < 2; i += 1) await (await breaker.admit()).record("failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 2 });
    await breaker.reset();
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 0, openings: 0 });
    await count(0, 4);
    expect(await breaker.snapshot()).toMatchObject({ openings: 1, retryAfterMs: 1_000 });
  });

  test("reset closes a half-open breaker, whose trial calls then count for nothing", async () => {
    const { breaker, count, advance } = breakerOnClock();
    await count(0, 4);
    advance(30_000);
    const trials = [await breaker.admit(), await breaker.admit()];
    await breaker.reset();
    for (const trial of trials) await trial.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 0 });
  });
});

test("every manual state can follow every other", async () => {
  const orders = [
    ["forceOpen", "forced-open"],
    ["disable", "disabled"],
    ["metricsOnly", "metrics-only"],
    ["reset", "closed"],
  ] as const;
  const { breaker } = breakerOnClock();
  for (const [first, before] of orders) {
    for (const [second, after] of orders) {
      await breaker[first]();
      expect((await breaker.snapshot()).state).toBe(before);
      await breaker[second]();
      expect((await breaker.snapshot()).state).toBe(after);
      expect((await breaker.admit()).state).toBe(after);
    }
  }
});
