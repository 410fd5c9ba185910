import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { YieldToEventLoop } from "./yield-to-event-loop.ts";
import { createYield } from "./yield-to-event-loop.ts";

let now = 0;
let readings = 0;
let macrotasks: (() => void)[] = [];
let yieldToEventLoop: YieldToEventLoop;

beforeEach(() => {
  now = 1_000;
  readings = 0;
  macrotasks = [];
  yieldToEventLoop = createYield(
    () => {
      readings += 1;
      return now;
    },
    (callback) => macrotasks.push(callback),
  );
});

/** Runs the scheduled macrotasks, as the event loop does in its next turn. */
function turn(): void {
  for (const callback of macrotasks.splice(0)) callback();
}

/** Awaits calls in a loop, each of which takes some milliseconds. Returns how many settled before the event loop had to turn. */
async function countCallsUntilYield(msPerCall: number): Promise<number> {
  for (let calls = 0; ; calls += 1) {
    now += msPerCall;
    const call = Promise.resolve();
    const settled = yieldToEventLoop(call);
    if (settled !== call) return calls;
    await settled;
  }
}

/** Whether a promise settles without a macrotask. */
async function settles(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const note = (): void => {
    isSettled = true;
  };
  promise.then(note, note);
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  return isSettled;
}

describe("a loop of calls that are answered in the process", () => {
  test.each([0.001, 0.1, 1, 4])(
    "lets the event loop turn after 10 to 20 ms if a call takes %s ms",
    async (msPerCall) => {
      for (let turns = 0; turns < 20; turns += 1) {
        const calls = await countCallsUntilYield(msPerCall);
        expect(calls * msPerCall).toBeGreaterThanOrEqual(9);
        expect(calls * msPerCall).toBeLessThanOrEqual(20);
        turn();
      }
    },
  );

  test("lets the event loop turn after each second call if one takes longer than 10 ms", async () => {
    for (let turns = 0; turns < 20; turns += 1) {
      expect(await countCallsUntilYield(30)).toBe(1);
      turn();
    }
  });

  test("lets the event loop turn within 50 ms when fast calls are followed by calls of 1.5 ms", async () => {
    await countCallsUntilYield(0.001);
    turn();
    expect(1.5 * (await countCallsUntilYield(1.5))).toBeLessThanOrEqual(50);
  });

  test("reads the clock for one call in 16", async () => {
    await countCallsUntilYield(0.001);
    turn();
    readings = 0;
    const calls = await countCallsUntilYield(0.001);
    expect(readings).toBeLessThanOrEqual(calls / 16 + 1);
  });
});

describe("a call after 10 ms without a turn", () => {
  test("settles with its own result after one macrotask, like all other calls until then", async () => {
    await countCallsUntilYield(1);
    const calls = [
      yieldToEventLoop(Promise.resolve("one")),
      yieldToEventLoop(Promise.resolve("two")),
      yieldToEventLoop(Promise.reject(new Error("three"))),
    ];
    for (const call of calls) expect(await settles(call)).toBe(false);
    expect(macrotasks).toHaveLength(1);
    turn();
    expect(await Promise.allSettled(calls)).toMatchObject([
      { value: "one" },
      { value: "two" },
      { reason: { message: "three" } },
    ]);
  });

  test("is handled at once, so that one that fails is not an unhandled rejection", async () => {
    await countCallsUntilYield(1);
    const onUnhandled = vi.fn();
    process.on("unhandledRejection", onUnhandled);
    onTestFinished(() => void process.off("unhandledRejection", onUnhandled));
    const rejected = expect(yieldToEventLoop(Promise.reject(new Error("failed")))).rejects.toThrow(
      "failed",
    );
    await new Promise(setImmediate);
    turn();
    await rejected;
    expect(onUnhandled).not.toHaveBeenCalled();
  });

  test("waits for its answer if that comes later than the macrotask", async () => {
    await countCallsUntilYield(1);
    let answer: (value: string) => void = () => {};
    const call = yieldToEventLoop(
      new Promise<string>((resolve) => {
        answer = resolve;
      }),
    );
    turn();
    expect(await settles(call)).toBe(false);
    answer("late");
    expect(await call).toBe("late");
  });
});

test("calls that come from the event loop are not delayed, however long the turns are", async () => {
  for (let turns = 0; turns < 1_000; turns += 1) {
    now += 500;
    const call = Promise.resolve();
    expect(yieldToEventLoop(call)).toBe(call);
    turn();
  }
  expect(readings).toBeLessThanOrEqual(1_000 / 16 + 16);
});
