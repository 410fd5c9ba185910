import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { BREAKER_CHANNELS } from "@headgate/breaker";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import { flushMicrotasks, holdBreaker } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["after flushInterval", 4, 1],
  ["because it has 1,000 outcomes", 1_000, 60_000],
])(
  "a report that is sent %s runs and publishes outside of its callers' async contexts",
  async (_, outcomes, flushInterval) => {
    const seen: (string | undefined)[] = [];
    const request = new AsyncLocalStorage<string>();
    // The test's timers do not keep the context in which they were set, and Node's do.
    vi.useRealTimers();
    const { breaker, held } = holdBreaker({ storeTimeout: "1m", flushInterval });
    const note = (): void => {
      seen.push(request.getStore());
    };
    subscribe(BREAKER_CHANNELS.state, note);
    onTestFinished(() => void unsubscribe(BREAKER_CHANNELS.state, note));
    await request.run("caller", async () => {
      for (let i = 0; i < outcomes; i += 1) await breaker.record("failure");
    });
    const report = await waitUntil("the report is sent", 5_000, () => held.shift());
    await report.complete();
    expect(seen).toEqual([undefined]);
  },
);

test.each([
  ["that is let through", false],
  ["that is rejected", true],
])(
  "a call %s after it shared another call's request keeps its own caller's async context",
  async (_, isRefused) => {
    const { breaker, peer, take } = holdBreaker();
    if (isRefused) await peer.forceOpen();
    const request = new AsyncLocalStorage<string>();
    const see = () => request.getStore();
    const callers = ["a", "b", "c"];
    const seen = Promise.all(
      callers.map((who) => request.run(who, () => breaker.run(see, { fallback: see }))),
    );
    await flushMicrotasks();
    await take().complete();
    expect(await seen).toEqual(callers);
  },
);
