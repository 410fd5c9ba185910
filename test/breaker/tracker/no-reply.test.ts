import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { recordBreakerEvents } from "../../support/record-breaker-events.ts";
import { createFailingStoreBreaker, storeError } from "./failing-store.ts";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";
import { recordWarnings } from "./record-warnings.ts";

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
    storeError,
  ])("a store error degrades the breaker: $code", async (error) => {
    const warnings = recordWarnings();
    const { breaker, withReplies, failWith } = createFailingStoreBreaker();
    const events = recordBreakerEvents();
    failWith(error);
    expect(await withReplies(breaker.admit())).toMatchObject({ allowed: true, degraded: true });
    expect(events).toMatchObject([["degraded", { reason: { code: error.code } }]]);
    expect(warnings.map((warning) => warning.split(":")[0])).toEqual([
      error.code === "HEADGATE_STORE_UNAVAILABLE" ? "HEADGATE_STORE_DOWN" : error.code,
    ]);
    await withReplies(breaker.close());
  });

  test.each([
    [
      "for a key of the wrong type",
      "HEADGATE_WRONG_TYPE",
      [1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
    ["that no script gives", "HEADGATE_BAD_REPLY", [0, 0]],
  ])("a reply %s degrades the breaker", async (_, code, reply) => {
    recordWarnings();
    const { breaker, take } = holdBreaker();
    const events = recordBreakerEvents();
    const pending = breaker.admit();
    await flushMicrotasks();
    await take().reply(reply);
    expect(await pending).toMatchObject({ allowed: true, degraded: true });
    expect(events).toMatchObject([["degraded", { reason: { code } }]]);
    const setting = breaker.forceOpen();
    await flushMicrotasks();
    await Promise.all([expect(setting).rejects.toMatchObject({ code }), take().reply(reply)]);
  });

  test("a call waits for the store no longer than storeTimeout", async () => {
    recordWarnings();
    const { breaker, take } = holdBreaker({ storeTimeout: 100 });
    const pending = breaker.admit();
    let isAnswered = false;
    pending.then(
      () => {
        isAnswered = true;
      },
      () => {},
    );
    await flushMicrotasks();
    const request = take();
    await advance(99);
    expect(isAnswered).toBe(false);
    await advance(5);
    expect(await pending).toMatchObject({ allowed: true, degraded: true });
    // What comes after is no news.
    await request.complete();
    expect(await breaker.admit()).toMatchObject({ degraded: true });
    await breaker.close();
  });

  test("an application error rejects calls, and reports warn of it", async () => {
    const warnings = recordWarnings();
    const fault = new HeadgateError("HEADGATE_INVALID_OPTION", "clock must return milliseconds");
    const { breaker, withReplies, failWith, held } = createFailingStoreBreaker({
      flushInterval: 250,
    });
    const events = recordBreakerEvents();
    failWith(fault);
    await expect(withReplies(breaker.admit())).rejects.toBe(fault);
    await expect(withReplies(breaker.run(() => 1))).rejects.toBe(fault);
    await expect(withReplies(breaker.snapshot())).rejects.toBe(fault);
    await breaker.record("failure");
    await advance(250);
    await held.shift()?.fail(new TypeError("a bug"));
    expect(warnings).toEqual([
      "HEADGATE_BAD_REPLY: Headgate: outcomes were not counted: TypeError: a bug",
    ]);
    await breaker.record("failure");
    await advance(250);
    await held.shift()?.fail(fault);
    expect(warnings[1]).toBe(
      "HEADGATE_INVALID_OPTION: Headgate: outcomes were not counted: HeadgateError: clock must return milliseconds",
    );
    expect(events).toEqual([]);
    // And the next time it is sent as usual.
    await breaker.record("failure");
    await advance(250);
    expect(held).toHaveLength(1);
  });

  test("a clock that returns no time causes no unhandled rejection", async () => {
    recordWarnings();
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { options, take } = holdBreaker();
    const store = { ...(options.store as Store), owner: {}, now: () => Number.NaN };
    const breaker = createBreaker({ ...options, store });
    const pending = breaker.admit();
    await flushMicrotasks();
    await Promise.all([
      expect(pending).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" }),
      take().fail(storeError),
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
    const { breaker, peer, withReplies, held } = createFailingStoreBreaker({
      trialCallTimeout: 50,
    });
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await advance(30_000);
    // A trial call that takes too long, and one that ends.
    await withReplies(breaker.admit());
    const ending = breaker.run(() => 1);
    await flushMicrotasks();
    await held.shift()?.complete();
    expect(await ending).toBe(1);
    expect(held).toHaveLength(1);
    for (const call of held.splice(0)) await call.fail(fault);
    await advance(50);
    for (const call of held.splice(0)) await call.fail(fault);
    // A trial call whose caller aborted during the request.
    await withReplies(breaker.reset());
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await withReplies(breaker.snapshot());
    await advance(30_000);
    const controller = new AbortController();
    const running = breaker.run(() => 1, { signal: controller.signal });
    running.catch(() => {});
    await flushMicrotasks();
    controller.abort();
    await held.shift()?.complete();
    expect(held).toHaveLength(1);
    for (const call of held.splice(0)) await call.fail(fault);
    vi.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
