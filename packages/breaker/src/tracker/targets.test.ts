import { describe, expect, test } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

describe("targets", () => {
  test("each target has its own state and window", async () => {
    const { breaker, count } = breakerOnClock();
    const [eu, us] = [breaker.for("eu"), breaker.for("us")];
    for (let i = 0; i < 4; i += 1) await eu.record("failure");
    expect((await eu.admit()).allowed).toBe(false);
    expect((await us.admit()).allowed).toBe(true);
    expect((await breaker.admit()).allowed).toBe(true);
    await us.forceOpen();
    await count(3, 0);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 3 });
    expect(await eu.snapshot()).toMatchObject({ state: "open", calls: 4 });
    expect(await us.snapshot()).toMatchObject({ state: "forced-open", calls: 0 });
    await eu.reset();
    expect((await eu.snapshot()).state).toBe("closed");
    expect((await us.snapshot()).state).toBe("forced-open");
  });

  test("the breaker itself is its target default", async () => {
    const { breaker } = breakerOnClock();
    expect(breaker.target).toBe("default");
    expect(breaker.for("payments-eu").target).toBe("payments-eu");
    await breaker.for("default").record("failure");
    expect(await breaker.snapshot()).toMatchObject({ calls: 1 });
    await breaker.for("eu").forceOpen();
    await expect(breaker.for("eu").run(() => 1)).rejects.toMatchObject({
      breaker: "payments",
      target: "eu",
    });
  });

  test("for returns the same target each time", async () => {
    const { breaker } = breakerOnClock();
    for (let i = 0; i < 4; i += 1) await breaker.for("eu").record("failure");
    expect((await breaker.for("eu").admit()).allowed).toBe(false);
  });

  test.each([
    "__proto__",
    "constructor",
    "a:b",
    "{a}",
    "a b",
    "*",
    "naïve 💧",
    "\u0000",
    "x".repeat(10_000),
  ])("%j is a target name like any other", async (name) => {
    const { breaker } = breakerOnClock();
    const neighbours = [`${name}x`, `${name}:`, name.slice(1) || "y"].map((other) =>
      breaker.for(other),
    );
    await breaker.for(name).forceOpen();
    expect((await breaker.for(name).admit()).allowed).toBe(false);
    for (const other of neighbours) expect((await other.admit()).allowed).toBe(true);
  });

  test.each([undefined, ""])("for rejects the target %j", (target) => {
    const { breaker } = breakerOnClock();
    expect(() => breaker.for(target as string)).toThrow(
      expect.objectContaining({
        code: "HEADGATE_EMPTY_KEY",
        message: `a target must not be empty, got ${JSON.stringify(target)}`,
      }),
    );
  });

  test.each([
    [null, "null"],
    [5, "a number"],
    [{ host: "secret" }, "an object"],
    [["eu"], "an array"],
    [Symbol("eu"), "a symbol"],
  ])("for rejects a target that is not a string: %s", (target: unknown, received) => {
    const { breaker } = breakerOnClock();
    expect(() => breaker.for(target as string)).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_KEY",
        message: `a target must be a string, got ${received}`,
      }),
    );
  });
});

describe("more targets than maxTargets", () => {
  test("a target beyond maxTargets keeps its state in the store", async () => {
    const { breaker } = breakerOnClock({ maxTargets: 2 });
    for (let i = 0; i < 20; i += 1) await breaker.for(`t${i}`).forceOpen();
    for (let i = 0; i < 20; i += 1) {
      expect((await breaker.for(`t${i}`).admit()).allowed).toBe(false);
    }
    expect((await breaker.for("t20").admit()).allowed).toBe(true);
  });

  test("a referenced target beyond maxTargets shares its state with the same target obtained again", async () => {
    const { breaker } = breakerOnClock({ maxTargets: 1 });
    const held = breaker.for("eu");
    expect((await held.admit()).allowed).toBe(true);
    await breaker.for("us").record("success");
    await breaker.for("eu").forceOpen();
    expect((await held.admit()).allowed).toBe(false);
    await breaker.for("us").record("success");
    await breaker.for("eu").reset();
    expect((await held.admit()).allowed).toBe(true);
  });
});
