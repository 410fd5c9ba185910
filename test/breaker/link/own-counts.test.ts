import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hearWarnings } from "./hear-warnings.ts";
import { loseBreaker, refused } from "./losable-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("local counts", () => {
  test("local counts are cleared when the fleet closes the target", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = loseBreaker();
    for (let i = 0; i < 3; i += 1) await answer(breaker.record("failure"));
    await peer.record("failure");
    await answer(breaker.snapshot());
    await peer.reset();
    await answer(breaker.snapshot());
    failWith(refused);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
  });

  test("local counts never open the breaker between outages", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = loseBreaker();
    for (let i = 0; i < 10; i += 1) await peer.record("success");
    for (let outages = 1; outages <= 2; outages += 1) {
      for (let i = 0; i < 3; i += 1) await answer(breaker.record("failure"));
      for (let i = 0; i < 3; i += 1) await answer(breaker.record("success"));
      failWith(refused);
      expect(await answer(breaker.snapshot())).toMatchObject({
        calls: outages * 6,
        failures: outages * 3,
        degraded: true,
      });
      failWith(undefined);
      await answer(breaker.snapshot());
    }
  });

  test("local counts are cleared by a reset in another process", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = loseBreaker();
    for (let i = 0; i < 3; i += 1) await answer(breaker.record("failure"));
    await peer.reset();
    await answer(breaker.snapshot());
    failWith(refused);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
  });

  test("local counts are kept when the fleet opens the target", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = loseBreaker();
    for (let i = 0; i < 3; i += 1) await answer(breaker.record("failure"));
    await peer.record("failure");
    await answer(breaker.snapshot());
    failWith(refused);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "open", calls: 3 });
  });

  test("local counts are kept from one outage to the next", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = loseBreaker();
    for (const next of [refused, undefined, refused]) {
      failWith(next);
      await answer(breaker.record("failure"));
    }
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 3, degraded: true });
  });
});
