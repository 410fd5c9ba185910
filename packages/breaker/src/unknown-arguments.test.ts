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

describe("arguments that a breaker would ignore", () => {
  const orders = ["forceOpen", "disable", "metricsOnly", "reset"];

  test.each([...orders, "admit", "snapshot"])("%s rejects an argument", async (method) => {
    const breaker = createBreaker();
    for (const target of [breaker, breaker.for("eu")] as never as Loose[]) {
      await expect(target[method]?.(more)).rejects.toMatchObject(refusal(`${method}()`));
      await target[method]?.(undefined);
    }
  });

  test.each(orders)(
    "%s rejects a target's name, and does not act on the breaker itself",
    async (order) => {
      const breaker = createBreaker();
      await breaker.record("failure");
      const before = await breaker.snapshot();
      await expect((breaker as never as Loose)[order]?.("eu")).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
      });
      expect(await breaker.snapshot()).toEqual(before);
    },
  );

  test("record rejects a third argument", async () => {
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

  test("for rejects a second argument", () => {
    const breaker = createBreaker() as never as Loose;
    expect(() => breaker["for"]?.("eu", more)).toThrow(
      expect.objectContaining(refusal("for(target)")),
    );
  });

  test("run rejects a signal in place of its options", async () => {
    const { signal } = new AbortController();
    const breaker = createBreaker() as never as Loose;
    await expect(breaker["run"]?.(() => 1, signal)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("run: options must be a plain object"),
    });
  });

  test("close rejects options and leaves the breaker open", async () => {
    const breaker = createBreaker();
    const loose = breaker as never as Loose;
    await expect(loose["close"]?.({ timeout: "5s" })).rejects.toMatchObject(refusal("close()"));
    await breaker.snapshot();
    await loose["close"]?.("SIGTERM", 15);
    await expect(breaker.snapshot()).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });
});

test("release ignores its argument, so that it can be passed to then", async () => {
  const { breaker, advance } = breakerOnClock({ trialCalls: 1, minimumCalls: 1, openFor: "1s" });
  await breaker.record("failure");
  advance(1_000);
  const trial = await breaker.admit();
  expect((await breaker.admit()).allowed).toBe(false);
  await Promise.resolve({ status: 200 }).then(trial.release as () => Promise<void>);
  expect((await breaker.admit()).allowed).toBe(true);
});
