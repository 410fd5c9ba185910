import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { HeldCall } from "./held-breaker.ts";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The calls, failures and slow calls that a sync reports for a window of time. */
const outcomesOf = ({ args }: HeldCall) => args[1];

describe("outcomes", () => {
  test("outcomes are sent together, flushInterval after the first", async () => {
    const { breaker, held, take } = holdBreaker({ slowCall: 10 });
    await breaker.record("success");
    await advance(100);
    await breaker.record("failure", 11);
    await advance(149);
    await breaker.record("success", 11);
    expect(held).toEqual([]);
    await advance(1);
    const report = take();
    expect(report).toMatchObject({
      operation: "sync-target",
      args: ["-1", "3 1 2", "0", "0", "0"],
    });
    await report.complete();
    const snapshot = breaker.snapshot();
    await flushMicrotasks();
    await take().complete();
    expect(await snapshot).toMatchObject({ calls: 3, failures: 1, slowCalls: 2 });
  });

  test("outcomes wait as long as flushInterval", async () => {
    const { breaker, held } = holdBreaker({ flushInterval: "1m" });
    await breaker.record("success");
    await advance(59_999);
    expect(held).toEqual([]);
    await advance(1);
    expect(held.map(outcomesOf)).toEqual(["1 0 0"]);
  });

  test("record and run do not wait until outcomes are sent", async () => {
    const { breaker, held } = holdBreaker();
    await breaker.record("success");
    const running = breaker.run(() => "fine");
    await flushMicrotasks();
    await held.shift()?.complete();
    expect(await running).toBe("fine");
    expect(held).toEqual([]);
  });

  test("1,000 outcomes are sent without waiting", async () => {
    const { breaker, held, take } = holdBreaker();
    for (let i = 0; i < 999; i += 1) await breaker.record("success");
    await flushMicrotasks();
    expect(held).toEqual([]);
    await breaker.record("failure");
    await flushMicrotasks();
    const report = take();
    expect(outcomesOf(report)).toBe("1000 1 0");
    await report.complete();
    // Their timer goes off for nothing.
    await advance(1_000);
    expect(held).toEqual([]);
  });

  test("outcomes for a window of calls are sent in order, and no more than it holds", async () => {
    const { breaker, take } = holdBreaker({ window: { calls: 6 }, slowCall: 10 });
    for (let i = 0; i < 20; i += 1) await breaker.record("failure");
    await breaker.record("success");
    await breaker.record("success", 11);
    await breaker.record("failure", 11);
    await advance(250);
    expect(outcomesOf(take())).toBe("111023");
  });

  test("only the last outcomes for a window of calls are sent", async () => {
    const { breaker, take } = holdBreaker({ window: { calls: 6 } });
    for (let i = 0; i < 500; i += 1) await breaker.record(i % 7 === 0 ? "failure" : "success");
    await advance(250);
    // 490 and 497 are sevenths.
    expect(outcomesOf(take())).toBe("000100");
  });

  test("each target's outcomes are sent separately", async () => {
    const { breaker, held } = holdBreaker();
    await breaker.for("eu").record("success");
    await breaker.for("us").record("failure");
    await breaker.for("eu").record("success");
    await advance(250);
    expect(held.map((call) => [call.key, outcomesOf(call)])).toEqual([
      ["hg:{eu}:breaker/payments", "2 0 0"],
      ["hg:{us}:breaker/payments", "1 1 0"],
    ]);
  });

  test("nothing is sent without outcomes", async () => {
    const { breaker, held } = holdBreaker();
    const permit = breaker.admit();
    await flushMicrotasks();
    await held.shift()?.complete();
    await (await permit).release();
    await advance(3_600_000);
    expect(held).toEqual([]);
  });

  test("collected outcomes are sent with the next request to the store", async () => {
    const { breaker, held, take } = holdBreaker();
    await breaker.record("failure");
    const permit = breaker.admit();
    await flushMicrotasks();
    const pending = take();
    expect(pending.args).toEqual(["-1", "1 1 0", "0", "0", "1"]);
    await pending.complete();
    await (await permit).record("success");
    const snapshot = breaker.snapshot();
    await flushMicrotasks();
    const looking = take();
    expect(looking.args).toEqual(["0", "1 0 0", "0", "0", "0"]);
    await looking.complete();
    expect(await snapshot).toMatchObject({ calls: 2, failures: 1 });
    await advance(349);
    expect(held).toEqual([]);
  });

  test("collected outcomes are sent before a manual state change", async () => {
    const { breaker, take, peer } = holdBreaker();
    for (let i = 0; i < 4; i += 1) await breaker.record("failure");
    const reset = breaker.reset();
    await flushMicrotasks();
    const report = take();
    expect(outcomesOf(report)).toBe("4 4 0");
    await report.complete();
    const change = take();
    expect(change.operation).toBe("set-target-state");
    await change.complete();
    await reset;
    expect(await peer.snapshot()).toMatchObject({ state: "closed", calls: 0 });
  });
});

describe("while a report is in flight", () => {
  test("a second report waits for the one in flight, and is sent as soon as it is due", async () => {
    const { breaker, held, take, peer } = holdBreaker({ storeTimeout: "1m" });
    await breaker.record("failure");
    await advance(250);
    const first = take();
    await breaker.record("success");
    await advance(250);
    await breaker.record("success");
    await advance(5_000);
    expect(held).toEqual([]);
    await first.complete();
    const second = take();
    expect(outcomesOf(second)).toBe("2 0 0");
    await second.complete();
    await advance(1_000);
    expect(held).toEqual([]);
    expect(await peer.snapshot()).toMatchObject({ calls: 3, failures: 1 });
  });

  test("outcomes recorded during a report wait for their own flushInterval", async () => {
    const { breaker, held, take } = holdBreaker({ storeTimeout: "1m" });
    await breaker.record("failure");
    await advance(250);
    await advance(100);
    await breaker.record("success");
    await advance(100);
    await take().complete();
    await advance(149);
    expect(held).toEqual([]);
    await advance(1);
    expect(outcomesOf(take())).toBe("1 0 0");
  });

  test("1,000 outcomes recorded during a report are sent when it is answered", async () => {
    const { breaker, held, take } = holdBreaker({ storeTimeout: "1m" });
    await breaker.record("failure");
    await advance(250);
    const first = take();
    for (let i = 0; i < 1_500; i += 1) await breaker.record("success");
    await flushMicrotasks();
    expect(held).toEqual([]);
    await first.complete();
    expect(outcomesOf(take())).toBe("1500 0 0");
  });

  test("reports follow each other while outcomes come", async () => {
    const { breaker, take, peer } = holdBreaker({ storeTimeout: "1m", minimumCalls: 1_000 });
    await breaker.record("success");
    await advance(250);
    for (let i = 0; i < 10; i += 1) {
      const report = take();
      await breaker.record("failure");
      await advance(300);
      await report.complete();
    }
    await take().complete();
    expect(await peer.snapshot()).toMatchObject({ calls: 11, failures: 10 });
  });
});

describe("with flushInterval 0", () => {
  test("a flushInterval of 0 sends each outcome at once, and record resolves when the store has it", async () => {
    const { breaker, held, peer } = holdBreaker({ flushInterval: 0 });
    const reported: string[] = [];
    const first = breaker.record("success").then(() => reported.push("first"));
    const second = breaker.record("failure").then(() => reported.push("second"));
    await flushMicrotasks();
    expect(held.map(outcomesOf)).toEqual(["1 0 0", "1 1 0"]);
    expect(reported).toEqual([]);
    await held[1]?.complete();
    expect(reported).toEqual(["second"]);
    await held[0]?.complete();
    await Promise.all([first, second]);
    expect(await peer.snapshot()).toMatchObject({ calls: 2, failures: 1 });
  });

  test("with a flushInterval of 0 a permit's record waits for the store, and run does not", async () => {
    const { breaker, held } = holdBreaker({ flushInterval: 0 });
    const running = breaker.run(() => "fine");
    await flushMicrotasks();
    await held.shift()?.complete();
    expect(await running).toBe("fine");
    expect(held.splice(0).map(outcomesOf)).toEqual(["1 0 0"]);
    const admitting = breaker.admit();
    await flushMicrotasks();
    await held.shift()?.complete();
    const permit = await admitting;
    let isRecorded = false;
    const recording = permit.record("failure").then(() => {
      isRecorded = true;
    });
    await flushMicrotasks();
    expect(isRecorded).toBe(false);
    await held.shift()?.complete();
    await recording;
  });
});
