import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { holdBreaker, letRun } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["that is let through", false],
  ["that is refused", true],
])(
  "a call %s after it waited for an answer that another asked for sees what its own caller stored",
  async (_, isRefused) => {
    const { breaker, peer, take } = holdBreaker();
    if (isRefused) await peer.forceOpen();
    const request = new AsyncLocalStorage<string>();
    const see = () => request.getStore();
    const callers = ["a", "b", "c"];
    const seen = Promise.all(
      callers.map((who) => request.run(who, () => breaker.run(see, { fallback: see }))),
    );
    await letRun();
    await take().carryOut();
    expect(await seen).toEqual(callers);
  },
);
