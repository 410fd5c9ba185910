import { describe, expect, test } from "vitest";
import { StartHeaderClock } from "./start-header.ts";

const NOW = 1_700_000_000_000;

/** The elapsed time by a header of a proxy whose clock agrees with ours. */
function elapsedBy(header: string | undefined): number {
  const clock = new StartHeaderClock();
  clock.elapsed(String(NOW), 0, NOW);
  return clock.elapsed(header, 1_000, NOW + 1_000);
}

describe("X-Request-Start", () => {
  test.each([
    ["seconds, as nginx writes them", "t=1700000000.750"],
    ["seconds without a prefix", "1700000000.75"],
    ["milliseconds, as Heroku writes them", "1700000000750"],
    ["microseconds, as Apache writes them", "t=1700000000750000"],
  ])("may have %s", (_, header) => {
    expect(elapsedBy(header)).toBeCloseTo(250, 2);
  });

  test.each([undefined, "", "t=", "soon", "t=-1", "Infinity", "1, 1", "1e400"])(
    "that is %j says nothing",
    (header) => {
      expect(elapsedBy(header)).toBe(0);
    },
  );

  test("that is over a minute off says nothing, and does not move the clock", () => {
    const clock = new StartHeaderClock();
    expect(clock.elapsed(String(NOW + 60_001), 0, NOW)).toBe(0);
    expect(clock.elapsed(String(NOW - 60_001), 0, NOW)).toBe(0);
    clock.elapsed(String(NOW), 0, NOW);
    expect(clock.elapsed(String(NOW), 100, NOW + 100)).toBe(100);
  });
});

test("the smallest difference of the last 30 to 60 seconds is that of the clocks", () => {
  const clock = new StartHeaderClock();
  /** Elapsed by our clock, at a time since the start. */
  const at = (ms: number, elapsed: number): number =>
    clock.elapsed(String(NOW + ms - elapsed), ms, NOW + ms);
  expect(at(0, 500)).toBe(0);
  expect(at(1_000, 450)).toBe(0);
  expect(at(2_000, 600)).toBe(150);
  // The proxy's clock is set back by 1 s at 10 s: known after 60 s at the latest.
  expect(at(10_000, 1_450)).toBe(1_000);
  expect(at(31_000, 1_450)).toBe(1_000);
  expect(at(59_000, 1_470)).toBe(1_020);
  expect(at(61_500, 1_450)).toBe(0);
  // After a minute without requests, nothing is known.
  expect(at(200_000, 5_000)).toBe(0);
});

test("when proxy and process have their clocks set back by an hour, their difference is still renewed in a minute", () => {
  const clock = new StartHeaderClock();
  const at = (ms: number, elapsed: number, setBy: number): number =>
    clock.elapsed(String(NOW + ms + setBy - elapsed), ms, NOW + ms + setBy);
  expect(at(0, 100, 0)).toBe(0);
  expect(at(10_000, 150, -3_600_000)).toBe(50);
  expect(at(31_000, 500, -3_600_000)).toBe(400);
  expect(at(61_500, 500, -3_600_000)).toBe(0);
});
