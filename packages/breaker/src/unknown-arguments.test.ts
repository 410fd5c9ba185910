import { describe, expect, test } from "vitest";
import { breakerOnClock } from "../../../test/support/breaker-on-clock.ts";
import { createBreaker } from "./create-breaker.ts";

type Loose = Record<string, (...args: unknown[]) => unknown>;

const more = { window: "1m" };

function refusal(signature: string) {
  return {
    code: "HEADGATE_INVALID_OPTION",
    message: `${signature} takes no other argument, got an object`,
  };
}

describe("what a breaker would ignore is not taken", () => {
  const orders = ["forceOpen", "disable", "metricsOnly", "reset"];

  test.each([...orders, "admit", "snapshot"])("%s has no options", async (method) => {
    const breaker = createBreaker();
    for (const target of [breaker, breaker.for("eu")] as never as Loose[]) {
      await expect(target[method]?.(more)).rejects.toMatchObject(refusal(`${method}()`));
      await target[method]?.(undefined);
    }
  });

  test.each(orders)("%s is not of the breaker itself when it is handed a target", async (order) => {
    const breaker = createBreaker();
    await breaker.record("failure");
    const before = await breaker.snapshot();
    await expect((breaker as never as Loose)[order]?.("eu")).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
    });
    expect(await breaker.snapshot()).toEqual(before);
  });

  test("record takes an outcome and a duration", async () => {
    const breaker = createBreaker();
    const permit = await breaker.admit();
    for (const { record } of [breaker, permit] as never as Loose[]) {
      await expect(record?.("failure", 5, more)).rejects.toMatchObject(
        refusal("record(outcome, durationMs)"),
      );
    }
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
    // The permit was not used up.
    await permit.record("failure", 5);
    expect(await breaker.snapshot()).toMatchObject({ calls: 1 });
  });

  test("a target has no options of its own", () => {
    const breaker = createBreaker() as never as Loose;
    expect(() => breaker["for"]?.("eu", more)).toThrow(
      expect.objectContaining(refusal("for(target)")),
    );
  });

  test("run does not take a signal for its options", async () => {
    const { signal } = new AbortController();
    const breaker = createBreaker() as never as Loose;
    await expect(breaker["run"]?.(() => 1, signal)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("run: options must be a plain object"),
    });
  });

  test("close does not ignore options, and stays open", async () => {
    const breaker = createBreaker();
    const loose = breaker as never as Loose;
    await expect(loose["close"]?.({ timeout: "5s" })).rejects.toMatchObject(refusal("close()"));
    await breaker.snapshot();
    await loose["close"]?.("SIGTERM", 15);
    await expect(breaker.snapshot()).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });
});

test("a permit that is handed what a promise resolved with is released all the same", async () => {
  const { breaker, pass } = breakerOnClock({ probes: 1, minimumCalls: 1, openFor: "1s" });
  await breaker.record("failure");
  pass(1_000);
  const trial = await breaker.admit();
  expect((await breaker.admit()).allowed).toBe(false);
  await Promise.resolve({ status: 200 }).then(trial.release as () => Promise<void>);
  expect((await breaker.admit()).allowed).toBe(true);
});
