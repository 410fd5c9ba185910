import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { GuardOptions } from "./guard-options.ts";
import { createHttpGuard } from "./http-guard.ts";
import { byTier } from "./request-limits.ts";

const limits = fixedWindow({ limit: 10, window: "1h" });
const request = { method: "GET", headers: {} };
const client = { address: "192.0.2.1", isDisconnected: () => false, peer: undefined };

/** How long `close` waits for callbacks of the application, in milliseconds. */
const MAX_WAIT_MS = 1_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const never = (): Promise<never> => new Promise(() => {});

/** Expects that a promise resolves when some fake milliseconds have passed, and not before. */
async function expectResolvesAfter(ms: number, promise: Promise<unknown>): Promise<void> {
  let isResolved = false;
  void promise.then(() => {
    isResolved = true;
  });
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(isResolved).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isResolved).toBe(true);
}

describe("close ends within a second although a callback never settles", () => {
  test.each<[string, GuardOptions<typeof request>]>([
    ["key", { limits, key: never }],
    ["skip", { limits, skip: never }],
    ["cost", { limits, cost: never }],
    ["allowList", { limits, allowList: never }],
    ["denyList", { limits, denyList: never }],
    ["the tier of byTier", { limits: byTier({ free: limits }, never) }],
  ])("%s", async (_, options) => {
    const guard = createHttpGuard("rateLimit", options);
    void guard.check(request, client);
    await expectResolvesAfter(MAX_WAIT_MS, guard.close());
  });

  test("of a guard whose limiter was passed in: both the guard's and the limiter's", async () => {
    const limiter = createLimiter({ limits });
    const guard = createHttpGuard("rateLimit", { limiter, key: never });
    void guard.check(request, client);
    await expectResolvesAfter(MAX_WAIT_MS, guard.close());
    await expectResolvesAfter(MAX_WAIT_MS, limiter.close());
  });
});

describe("a request whose key is late", () => {
  function start() {
    let answer: (subject: string) => void = () => {};
    const limiter = createLimiter({ limits });
    const key = (): Promise<string> =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const guard = createHttpGuard("rateLimit", { limiter, key });
    const checked = guard.check(request, client);
    return { limiter, checked, answer: () => answer("ada") };
  }

  test("is decided before close resolves", async () => {
    const { limiter, checked, answer } = start();
    const ended: string[] = [];
    void checked.then(() => ended.push("check"));
    const closed = limiter.close().then(() => ended.push("close"));
    await vi.advanceTimersByTimeAsync(MAX_WAIT_MS - 1);
    answer();
    await closed;
    expect(ended).toEqual(["check", "close"]);
    expect(await checked).toMatchObject({ kind: "allowed" });
  });

  test("is decided even after close has given up waiting", async () => {
    const { limiter, checked, answer } = start();
    const closed = limiter.close();
    await vi.advanceTimersByTimeAsync(MAX_WAIT_MS);
    await closed;
    answer();
    expect(await checked).toMatchObject({ kind: "allowed" });
  });
});
