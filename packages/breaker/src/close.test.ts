import { memoryStore } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { createBreaker } from "./create-breaker.ts";

function open(options = {}) {
  const store = memoryStore();
  const shared = { name: "payments", store, ...options };
  return { shared, breaker: createBreaker(shared) };
}

const closed = {
  code: "HEADGATE_CLOSED",
  message: 'the breaker "payments" has been closed',
};

describe("close", () => {
  test("every method of every target throws HEADGATE_CLOSED after close", async () => {
    const { breaker } = open();
    const eu = breaker.for("eu");
    await breaker.close();
    for (const target of [breaker, eu]) {
      const calls = [
        target.run(() => 1),
        target.run(() => 1, { fallback: () => 2 }),
        target.admit(),
        target.record("success"),
        target.snapshot(),
        target.forceOpen(),
        target.disable(),
        target.metricsOnly(),
        target.reset(),
      ];
      for (const call of calls) await expect(call).rejects.toMatchObject(closed);
    }
    expect(() => breaker.for("us")).toThrow(expect.objectContaining(closed));
  });

  test("a second close does nothing", async () => {
    const { breaker } = open();
    await breaker.close();
    await expect(breaker.close()).resolves.toBeUndefined();
  });

  test("calls in flight when the breaker closes end normally and count", async () => {
    const { breaker, shared } = open();
    let end = (_: string): void => {};
    const call = () =>
      new Promise<string>((resolve) => {
        end = resolve;
      });
    await breaker.admit();
    const running = breaker.run(call);
    const permit = await breaker.admit();
    await breaker.close();
    end("fine");
    expect(await running).toBe("fine");
    await permit.record("failure");
    expect(await createBreaker(shared).snapshot()).toMatchObject({ calls: 2, failures: 1 });
  });

  test("close frees the name for another policy", async () => {
    const { breaker, shared } = open();
    expect(() => createBreaker({ ...shared, trialCalls: 9 })).toThrow(
      expect.objectContaining({ code: "HEADGATE_DUPLICATE_NAME" }),
    );
    await breaker.close();
    expect(() => createBreaker({ ...shared, trialCalls: 9 })).not.toThrow();
  });

  test("counts and states in the store outlive the breaker", async () => {
    const { breaker, shared } = open();
    await breaker.record("failure");
    await breaker.for("eu").forceOpen();
    await breaker.close();
    const next = createBreaker(shared);
    expect(await next.snapshot()).toMatchObject({ calls: 1, failures: 1 });
    expect((await next.for("eu").snapshot()).state).toBe("forced-open");
  });

  test("a breaker with another window starts empty, and one with the same window continues", async () => {
    const { breaker, shared } = open({ window: "5m" });
    await breaker.record("failure");
    await breaker.close();
    for (const window of ["6m", { calls: 10 }, { calls: 11 }] as const) {
      const other = createBreaker({ ...shared, window });
      expect(await other.snapshot()).toMatchObject({ calls: 0 });
      await other.record("success");
      await other.close();
    }
    expect(await createBreaker(shared).snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });

  test("closing one of two breakers of a name leaves the other working and the name taken", async () => {
    const { breaker, shared } = open();
    const other = createBreaker(shared);
    await breaker.close();
    await breaker.close();
    await other.record("success");
    expect(await other.snapshot()).toMatchObject({ calls: 1 });
    expect(() => createBreaker({ ...shared, trialCalls: 9 })).toThrow(
      expect.objectContaining({ code: "HEADGATE_DUPLICATE_NAME" }),
    );
    await other.close();
    expect(() => createBreaker({ ...shared, trialCalls: 9 })).not.toThrow();
  });
});
