import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createFailingStoreBreaker, storeError } from "./failing-store.ts";
import { recordWarnings } from "./record-warnings.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("local counts", () => {
  test("local counts are cleared when the fleet closes the target", async () => {
    recordWarnings();
    const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker();
    for (let i = 0; i < 3; i += 1) await withReplies(breaker.record("failure"));
    await peer.record("failure");
    await withReplies(breaker.snapshot());
    await peer.reset();
    await withReplies(breaker.snapshot());
    failWith(storeError);
    expect(await withReplies(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
  });

  test("local counts never open the breaker between outages", async () => {
    recordWarnings();
    const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker();
    for (let i = 0; i < 10; i += 1) await peer.record("success");
    for (let outages = 1; outages <= 2; outages += 1) {
      for (let i = 0; i < 3; i += 1) await withReplies(breaker.record("failure"));
      for (let i = 0; i < 3; i += 1) await withReplies(breaker.record("success"));
      failWith(storeError);
      expect(await withReplies(breaker.snapshot())).toMatchObject({
        calls: outages * 6,
        failures: outages * 3,
        degraded: true,
      });
      failWith(undefined);
      await withReplies(breaker.snapshot());
    }
  });

  test("local counts are cleared by a reset in another process", async () => {
    recordWarnings();
    const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker();
    for (let i = 0; i < 3; i += 1) await withReplies(breaker.record("failure"));
    await peer.reset();
    await withReplies(breaker.snapshot());
    failWith(storeError);
    expect(await withReplies(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
  });

  test("local counts are kept when the fleet opens the target", async () => {
    recordWarnings();
    const { breaker, peer, withReplies, failWith } = createFailingStoreBreaker();
    for (let i = 0; i < 3; i += 1) await withReplies(breaker.record("failure"));
    await peer.record("failure");
    await withReplies(breaker.snapshot());
    failWith(storeError);
    expect(await withReplies(breaker.snapshot())).toMatchObject({ state: "open", calls: 3 });
  });

  test("local counts are kept from one outage to the next", async () => {
    recordWarnings();
    const { breaker, withReplies, failWith } = createFailingStoreBreaker();
    for (const next of [storeError, undefined, storeError]) {
      failWith(next);
      await withReplies(breaker.record("failure"));
    }
    expect(await withReplies(breaker.snapshot())).toMatchObject({ calls: 3, degraded: true });
  });
});
