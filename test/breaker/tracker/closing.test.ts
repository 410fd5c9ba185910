import { createBreaker } from "@headgate/breaker";
import { HeadgateError } from "@headgate/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";
import { recordWarnings } from "./record-warnings.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Whether a promise is settled. */
function watch(promise: Promise<unknown>) {
  const watched = { isSettled: false };
  const note = (): void => {
    watched.isSettled = true;
  };
  promise.then(note, note);
  return watched;
}

describe("close", () => {
  test("close sends the collected outcomes of each target and waits for the store", async () => {
    const { breaker, peer, held } = holdBreaker();
    await breaker.record("failure");
    await breaker.for("eu").record("success");
    const closing = watch(breaker.close());
    await flushMicrotasks();
    expect(held.map(({ args }) => args[1])).toEqual(["1 1 0", "1 0 0"]);
    for (const call of held.splice(0)) {
      expect(closing.isSettled).toBe(false);
      await call.complete();
    }
    expect(closing.isSettled).toBe(true);
    expect(await peer.snapshot()).toMatchObject({ calls: 1, failures: 1 });
    expect(await peer.for("eu").snapshot()).toMatchObject({ calls: 1, failures: 0 });
    await advance(10_000);
    expect(held).toEqual([]);
  });

  test("close waits for a report in flight, and sends later outcomes", async () => {
    const { breaker, peer, take, held } = holdBreaker({ storeTimeout: "1m" });
    await breaker.record("failure");
    await advance(250);
    const first = take();
    await breaker.record("failure");
    const closing = watch(breaker.close());
    await flushMicrotasks();
    expect(held).toEqual([]);
    await first.complete();
    expect(closing.isSettled).toBe(false);
    await take().complete();
    expect(closing.isSettled).toBe(true);
    expect(await peer.snapshot()).toMatchObject({ calls: 2 });
  });

  test("close sends outcomes once that were already due", async () => {
    const { breaker, take, held } = holdBreaker({ storeTimeout: "1m" });
    await breaker.record("failure");
    await advance(250);
    const first = take();
    await breaker.record("failure");
    await advance(250);
    const closing = watch(breaker.close());
    await first.complete();
    await take().complete();
    expect(held).toEqual([]);
    expect(closing.isSettled).toBe(true);
  });

  test("close waits for a report in flight without later outcomes", async () => {
    const { breaker, take } = holdBreaker({ storeTimeout: "1m" });
    await breaker.record("failure");
    await advance(250);
    const report = take();
    const closing = watch(breaker.close());
    await flushMicrotasks();
    expect(closing.isSettled).toBe(false);
    await report.complete();
    expect(closing.isSettled).toBe(true);
  });

  test("concurrent close calls all wait until everything is sent", async () => {
    const { breaker, take } = holdBreaker();
    await breaker.record("failure");
    const closings = [watch(breaker.close()), watch(breaker.close())];
    await flushMicrotasks();
    const report = take();
    expect(closings.map(({ isSettled }) => isSettled)).toEqual([false, false]);
    await report.complete();
    expect(closings.map(({ isSettled }) => isSettled)).toEqual([true, true]);
  });

  test("close without outcomes sends nothing", async () => {
    const { breaker, held } = holdBreaker();
    await breaker.close();
    expect(held).toEqual([]);
  });

  test("close waits for an unavailable store no longer than storeTimeout", async () => {
    recordWarnings();
    const { breaker, held } = holdBreaker({ storeTimeout: 100 });
    await breaker.record("failure");
    const closing = watch(breaker.close());
    await advance(99);
    expect(closing.isSettled).toBe(false);
    await advance(10);
    expect(closing.isSettled).toBe(true);
    // It no longer tries to connect to it.
    held.length = 0;
    await advance(60_000);
    expect(held).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("closing one breaker leaves another of the same name working", async () => {
    const { breaker, options, take, held } = holdBreaker();
    const other = createBreaker(options);
    await breaker.record("failure");
    const closing = breaker.close();
    await flushMicrotasks();
    await take().complete();
    await closing;
    await other.record("success");
    await advance(250);
    expect(take().args[1]).toBe("1 0 0");
    expect(held).toEqual([]);
  });

  test("closing one breaker twice does not close another of the same name", async () => {
    recordWarnings();
    const { breaker, options, take, held } = holdBreaker();
    const other = createBreaker(options);
    await breaker.close();
    await breaker.close();
    const pending = other.admit();
    await flushMicrotasks();
    await take().fail(new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "gone"));
    await pending;
    // What is in use is tried again and again.
    await advance(10_000);
    expect(held.map(({ operation }) => operation)).toContain("probe");
    await other.close();
    held.length = 0;
    await advance(60_000);
    expect(held).toEqual([]);
  });

  test("close frees the name at once", async () => {
    const { breaker, options, take } = holdBreaker();
    await breaker.record("failure");
    const closing = breaker.close();
    expect(() => createBreaker({ ...options, trialCalls: 9 })).not.toThrow();
    await flushMicrotasks();
    await take().complete();
    await closing;
  });

  test("outcomes of calls that end after close are sent", async () => {
    const { breaker, take } = holdBreaker();
    const pending = breaker.admit();
    await flushMicrotasks();
    await take().complete();
    const permit = await pending;
    await breaker.close();
    await permit.record("failure");
    await advance(250);
    expect(take().args[1]).toBe("1 1 0");
  });
});
