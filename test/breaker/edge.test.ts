import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Clock, Store } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { MicroClock } from "../conformance/support/micro-clock.ts";
import { describeStores } from "../conformance/support/stores-under-test.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";

/** Microseconds. */
const SECOND = 1_000_000n;
const MINUTE = 60n * SECOND;
const HOUR = 60n * MINUTE;
const DAY = 24n * HOUR;

/** Five minutes have sub-windows of six seconds; one begins here. */
const SUB_WINDOW = 6n * SECOND;
const START = 1_800_000_000n * SECOND;

const { storeTimeout } = STORE_ALONE;

describeStores((tested) => {
  function open(options: BreakerOptions = {}): { breaker: Breaker; time: MicroClock } {
    const time = new MicroClock(START);
    return { time, breaker: makeBreaker((clock) => tested.open(clock), time, options) };
  }

  describe("the success rate over five minutes", () => {
    test("a breaker opens below a success rate of one half, not at one half", async () => {
      const { breaker } = open();
      await record(breaker, 10, "success");
      await record(breaker, 10, "failure");
      expect(await breaker.snapshot()).toMatchObject({
        state: "closed",
        calls: 20,
        successRate: 0.5,
      });
      await record(breaker, 1, "failure");
      expect(await breaker.snapshot()).toMatchObject({
        state: "open",
        calls: 21,
        failures: 11,
        successRate: 10 / 21,
        openings: 1,
        retryAfterMs: 30_000,
      });
    });

    test("a breaker compares the success rate of the last five minutes when an outcome is recorded", async () => {
      const { breaker, time } = open();
      await record(breaker, 100, "success");
      time.advance(4n * MINUTE);
      await record(breaker, 100, "failure");
      expect(await breaker.snapshot()).toMatchObject({ state: "closed", successRate: 0.5 });
      time.advance(MINUTE - 1n);
      expect(await breaker.snapshot()).toMatchObject({ calls: 200, state: "closed" });
      time.advance(1n);
      // Time alone opens nothing: the next outcome does, even a good one.
      expect(await breaker.snapshot()).toMatchObject({
        calls: 100,
        successRate: 0,
        state: "closed",
      });
      await record(breaker, 1, "success");
      expect(await breaker.snapshot()).toMatchObject({ calls: 101, state: "open" });
    });

    test("failures that have left the window do not count", async () => {
      const { breaker, time } = open();
      await record(breaker, 19, "failure");
      time.advance(5n * MINUTE);
      await record(breaker, 1, "failure");
      expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 1, failures: 1 });
    });

    test.each([
      ["the first", 0n, 5n * MINUTE],
      ["the last", SUB_WINDOW - 1n, 5n * MINUTE - SUB_WINDOW + 1n],
    ])(
      "an outcome in %s microsecond of a sub-window counts for at most the window",
      async (_, after, counted) => {
        const { breaker, time } = open();
        time.advance(after);
        await record(breaker, 1, "failure");
        time.advance(counted - 1n);
        expect(await breaker.snapshot()).toMatchObject({ calls: 1 });
        time.advance(1n);
        expect(await breaker.snapshot()).toMatchObject({ calls: 0, successRate: null });
      },
    );
  });

  test("a breaker opens with the last of `minimumCalls`, not one call before", async () => {
    const { breaker } = open({ minimumCalls: 7 });
    await record(breaker, 6, "failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 6 });
    await record(breaker, 1, "failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 7 });
  });

  test("a breaker opens when the share of calls longer than `slowCall` reaches `slowCallRate`", async () => {
    const { breaker } = open({ slowCall: "2s", slowCallRate: 0.8 });
    await record(breaker, 5, "success", 2_000);
    await record(breaker, 19, "success", 2_001);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 24, slowCalls: 19 });
    await record(breaker, 1, "success", 2_001);
    expect(await breaker.snapshot()).toMatchObject({
      state: "open",
      slowCallRate: 0.8,
      successRate: 1,
    });
  });

  test("two outcomes in the same microsecond both count", async () => {
    const { breaker } = open();
    await Promise.all([breaker.record("failure"), breaker.record("failure")]);
    expect(await breaker.snapshot()).toMatchObject({ calls: 2, failures: 2 });
  });

  describe("mistakes of other breakers", () => {
    test("failures of an hour ago do not open a breaker", async () => {
      const { breaker, time } = open();
      await record(breaker, 19, "failure");
      time.advance(HOUR);
      await record(breaker, 1, "failure");
      expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 1 });
    });

    test("20 slow failures, each in its own sub-window, open a breaker", async () => {
      const { breaker, time } = open({ slowCall: "5s", slowCallRate: 1 });
      for (let call = 1; call <= 20; call++) {
        expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
        time.advance(12n * SECOND);
        await record(breaker, 1, "failure", 12_000);
      }
      expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 20, slowCalls: 20 });
    });
  });

  describe("while open", () => {
    test("an open breaker lets trial calls through after `openFor`, to the microsecond", async () => {
      const { breaker, time } = open({ minimumCalls: 1, trialCalls: 1 });
      await record(breaker, 1, "failure");
      time.advance(30n * SECOND - 1n);
      expect(await breaker.admit()).toMatchObject({
        allowed: false,
        state: "open",
        retryAfterMs: 1,
      });
      time.advance(1n);
      expect(await breaker.admit()).toMatchObject({ allowed: true, state: "half-open" });
      expect(await breaker.admit()).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
    });

    test("an open breaker counts no calls, and its window empties", async () => {
      const { breaker, time } = open({ minimumCalls: 2, openFor: "10m" });
      const permit = await breaker.admit();
      await record(breaker, 2, "failure");
      await permit.record("failure");
      await record(breaker, 3, "failure");
      expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 2 });
      time.advance(5n * MINUTE);
      expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 0 });
    });

    test("the backoff grows up to the 20th opening in a row, and starts again after closing", async () => {
      const { breaker, time } = open({
        minimumCalls: 1,
        trialCalls: 1,
        openFor: (opened) => opened * 1_000,
      });
      await record(breaker, 1, "failure");
      for (let opened = 1; opened <= 22; opened++) {
        const retryAfterMs = Math.min(opened, 20) * 1_000;
        expect(await breaker.snapshot()).toMatchObject({
          state: "open",
          openings: opened,
          retryAfterMs,
        });
        time.advance(BigInt(retryAfterMs) * 1_000n);
        await (await breaker.admit()).record("failure");
      }
      time.advance(20n * SECOND);
      await (await breaker.admit()).record("success");
      expect(await breaker.snapshot()).toMatchObject({ state: "closed", openings: 0, calls: 0 });
      await record(breaker, 1, "failure");
      expect(await breaker.snapshot()).toMatchObject({
        state: "open",
        openings: 1,
        retryAfterMs: 1_000,
      });
    });
  });

  describe("half-open", () => {
    test.each([
      ["half of them succeed", 2, "closed"],
      ["fewer than half succeed", 1, "open"],
    ])("a half-open breaker decides when %s", async (_, successes, state) => {
      const { breaker } = await openHalf({ trialCalls: 4 });
      for (let call = 0; call < 4; call++) {
        await (await breaker.admit()).record(call < successes ? "success" : "failure");
      }
      expect(await breaker.snapshot()).toMatchObject({ state });
    });

    test.each([
      ["fewer than `slowCallRate` are slow", 2, "closed"],
      ["`slowCallRate` are slow", 3, "open"],
    ])("a half-open breaker decides when %s", async (_, slow, state) => {
      const { breaker } = await openHalf({ trialCalls: 4, slowCall: "1s", slowCallRate: 0.75 });
      for (let call = 0; call < 4; call++) {
        await (await breaker.admit()).record("success", call < slow ? 1_001 : 1_000);
      }
      expect(await breaker.snapshot()).toMatchObject({ state });
    });

    test("a trial call counts until its lease ends: `trialCallTimeout` and a second", async () => {
      const { breaker, time } = await openHalf({ trialCalls: 1, trialCallTimeout: "10m" });
      const lost = await breaker.admit();
      time.advance(10n * MINUTE + SECOND - 1n);
      expect(await breaker.admit()).toMatchObject({ allowed: false, retryAfterMs: 1 });
      time.advance(1n);
      const next = await breaker.admit();
      expect(next).toMatchObject({ allowed: true });
      await lost.record("success");
      expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
      await next.record("success");
      expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
    });

    test("a half-open state expires a day after the last lease could have ended", async () => {
      const { breaker, time } = await openHalf({ trialCalls: 3, trialCallTimeout: "10h" });
      const [first, second] = [await breaker.admit(), await breaker.admit()];
      const remembered = 10n * HOUR + SECOND + DAY;
      time.advance(9n * HOUR);
      await first.record("success");
      time.advance(HOUR / 2n);
      await second.release();
      time.advance(remembered - 1n);
      expect(await breaker.snapshot()).toMatchObject({ state: "half-open", openings: 1 });
      await breaker.admit();
      time.advance(remembered - 1n);
      expect(await breaker.snapshot()).toMatchObject({ state: "half-open", openings: 1 });
      time.advance(1n);
      expect(await breaker.snapshot()).toMatchObject({ state: "closed", openings: 0 });
    });

    async function openHalf(options: BreakerOptions) {
      const { breaker, time } = open({ minimumCalls: 1, ...options });
      await record(breaker, 1, "failure");
      time.advance(30n * SECOND);
      return { breaker, time };
    }
  });

  test("a breaker closes with an empty window, and earlier calls do not count", async () => {
    const { breaker, time } = open({ minimumCalls: 2, trialCalls: 1, openFor: "1s" });
    const early = await breaker.admit();
    await record(breaker, 2, "failure");
    time.advance(SECOND);
    await (await breaker.admit()).record("success");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 0 });
    await early.record("failure");
    await record(breaker, 1, "failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 1 });
  });

  test.each([
    ["forced-open", (breaker: Breaker) => breaker.forceOpen(), false],
    ["disabled", (breaker: Breaker) => breaker.disable(), true],
    ["metrics-only", (breaker: Breaker) => breaker.metricsOnly(), true],
  ])(
    "a breaker stays %s while calls come, and for a week after the last",
    async (state, set, allowed) => {
      const { breaker, time } = open();
      await set(breaker);
      for (let day = 1; day <= 10; day++) {
        time.advance(DAY);
        expect(await breaker.admit()).toMatchObject({ state, allowed });
      }
      expect(await breaker.snapshot()).toMatchObject({ state });
      time.advance(7n * DAY);
      expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
    },
  );

  test("a manual state expires a week after the last call, not after six days", async () => {
    const { breaker, time } = open();
    await breaker.disable();
    for (const wait of [2n * DAY, 6n * DAY - 1n, 6n * DAY - 1n]) {
      time.advance(wait);
      expect(await breaker.snapshot()).toMatchObject({ state: "disabled" });
    }
    time.advance(7n * DAY);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
  });
});

function makeBreaker(
  openStore: (clock: Clock) => Store,
  time: MicroClock,
  options: BreakerOptions,
): Breaker {
  const store = openStore(time.clock);
  return createBreaker({ name: "edge", store, storeTimeout, flushInterval: 0, ...options });
}

async function record(
  breaker: Breaker,
  times: number,
  outcome: "success" | "failure",
  durationMs?: number,
): Promise<void> {
  for (let call = 0; call < times; call++) await breaker.record(outcome, durationMs);
}
