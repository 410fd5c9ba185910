import { describe, expect, test } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";
import { loopBesideTimer } from "../../../../test/support/loop-beside-timer.ts";

/** The longest gap of a timer beside a loop, in milliseconds. */
const MAX_GAP_MS = 50;

describe("timers fire beside a loop that awaits", () => {
  const { breaker } = breakerOnClock();
  const { breaker: open } = breakerOnClock();

  test.each<[string, () => Promise<unknown>]>([
    ["run, whose call needs no event loop", () => breaker.run(() => "fine")],
    ["admit", () => breaker.admit()],
    ["record", () => breaker.record("success")],
    ["snapshot", () => breaker.snapshot()],
    ["run of an open breaker", () => open.run(() => "fine")],
    [
      "run of an open breaker with a fallback",
      () => open.run(() => "fine", { fallback: () => "old" }),
    ],
    ["run of an open target", () => open.for("default").run(() => "fine")],
    ["admit of an open breaker", () => open.admit()],
    ["forceOpen", () => open.forceOpen()],
    ["disable", () => breaker.disable()],
    ["metricsOnly", () => breaker.metricsOnly()],
    ["reset", () => breaker.reset()],
  ])("%s", async (_, call) => {
    await open.forceOpen();
    expect(await loopBesideTimer(call)).toBeLessThan(MAX_GAP_MS);
  });
});
