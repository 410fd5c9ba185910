import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { recordBreakerEvents } from "../../support/record-breaker-events.ts";
import { hearWarnings } from "./hear-warnings.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";
import { loseBreaker, refused } from "./losable-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("errors of the store", () => {
  test.each([
    new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "gone"),
    new HeadgateError("HEADGATE_HASH_SLOT_UNAVAILABLE", "moving"),
    new HeadgateError("HEADGATE_WRONG_TYPE", "wrong type"),
    new HeadgateError("HEADGATE_BAD_REPLY", "odd"),
    refused,
  ])("a store error degrades the breaker: $code", async (error) => {
    const warnings = hearWarnings();
    const { breaker, answer, failWith } = loseBreaker();
    const heard = recordBreakerEvents();
    failWith(error);
    expect(await answer(breaker.admit())).toMatchObject({ allowed: true, degraded: true });
    expect(heard).toMatchObject([["degraded", { reason: { code: error.code } }]]);
    expect(warnings.map((warning) => warning.split(":")[0])).toEqual([
      error.code === "HEADGATE_STORE_UNAVAILABLE" ? "HEADGATE_STORE_DOWN" : error.code,
    ]);
    await answer(breaker.close());
  });

  test.each([
    [
      "for a key of the wrong type",
      "HEADGATE_WRONG_TYPE",
      [1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
    ["that no script gives", "HEADGATE_BAD_REPLY", [0, 0]],
  ])("a reply %s degrades the breaker", async (_, code, reply) => {
    hearWarnings();
    const { breaker, take } = holdBreaker();
    const heard = recordBreakerEvents();
    const asking = breaker.admit();
    await letRun();
    await take().answer(reply);
    expect(await asking).toMatchObject({ allowed: true, degraded: true });
    expect(heard).toMatchObject([["degraded", { reason: { code } }]]);
    const ordering = breaker.forceOpen();
    await letRun();
    await Promise.all([expect(ordering).rejects.toMatchObject({ code }), take().answer(reply)]);
  });

  test("a call waits for the store no longer than storeTimeout", async () => {
    hearWarnings();
    const { breaker, take } = holdBreaker({ storeTimeout: 100 });
    const asking = breaker.admit();
    let isAnswered = false;
    asking.then(
      () => {
        isAnswered = true;
      },
      () => {},
    );
    await letRun();
    const asked = take();
    await pass(99);
    expect(isAnswered).toBe(false);
    await pass(5);
    expect(await asking).toMatchObject({ allowed: true, degraded: true });
    // What comes after is no news.
    await asked.carryOut();
    expect(await breaker.admit()).toMatchObject({ degraded: true });
    await breaker.close();
  });

  test("an application error rejects calls, and reports warn of it", async () => {
    const warnings = hearWarnings();
    const fault = new HeadgateError("HEADGATE_INVALID_OPTION", "clock must return milliseconds");
    const { breaker, answer, failWith, held } = loseBreaker({ flushInterval: 250 });
    const heard = recordBreakerEvents();
    failWith(fault);
    await expect(answer(breaker.admit())).rejects.toBe(fault);
    await expect(answer(breaker.run(() => 1))).rejects.toBe(fault);
    await expect(answer(breaker.snapshot())).rejects.toBe(fault);
    await breaker.record("failure");
    await pass(250);
    await held.shift()?.fail(new TypeError("a bug"));
    expect(warnings).toEqual([
      "HEADGATE_BAD_REPLY: Headgate: outcomes were not counted: TypeError: a bug",
    ]);
    await breaker.record("failure");
    await pass(250);
    await held.shift()?.fail(fault);
    expect(warnings[1]).toBe(
      "HEADGATE_INVALID_OPTION: Headgate: outcomes were not counted: HeadgateError: clock must return milliseconds",
    );
    expect(heard).toEqual([]);
    // And the next time it is sent as usual.
    await breaker.record("failure");
    await pass(250);
    expect(held).toHaveLength(1);
  });

  test("a clock that returns no time causes no unhandled rejection", async () => {
    hearWarnings();
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { options, take } = holdBreaker();
    const store = { ...(options.store as Store), owner: {}, now: () => Number.NaN };
    const breaker = createBreaker({ ...options, store });
    const asking = breaker.admit();
    await letRun();
    await Promise.all([
      expect(asking).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" }),
      take().fail(refused),
    ]);
    vi.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    await breaker.close();
  });

  test("a failed request that no caller awaits causes no unhandled rejection", async () => {
    const fault = new TypeError("a bug");
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { breaker, peer, answer, held } = loseBreaker({ trialCallTimeout: 50 });
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await pass(30_000);
    // A trial call that takes too long, and one that ends.
    await answer(breaker.admit());
    const ending = breaker.run(() => 1);
    await letRun();
    await held.shift()?.carryOut();
    expect(await ending).toBe(1);
    expect(held).toHaveLength(1);
    for (const call of held.splice(0)) await call.fail(fault);
    await pass(50);
    for (const call of held.splice(0)) await call.fail(fault);
    // A trial call whose caller left while the store was asked.
    await answer(breaker.reset());
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await answer(breaker.snapshot());
    await pass(30_000);
    const controller = new AbortController();
    const running = breaker.run(() => 1, { signal: controller.signal });
    running.catch(() => {});
    await letRun();
    controller.abort();
    await held.shift()?.carryOut();
    expect(held).toHaveLength(1);
    for (const call of held.splice(0)) await call.fail(fault);
    vi.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
