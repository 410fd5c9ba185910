import type { MockInstance } from "vitest";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ClockListener } from "./event-loop-clock.ts";
import { EventLoopClock } from "./event-loop-clock.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A listener, and the times at which it was called. */
function awaited(keepsAlive = true, soonest = Number.POSITIVE_INFINITY) {
  const beats: number[] = [];
  const one: ClockListener = {
    keepsAlive,
    onTick(now) {
      beats.push(now);
      return soonest;
    },
  };
  return { one, beats };
}

/** Lets time pass in which no timer runs, as if the process did not. */
function stall(ms: number): void {
  const { now } = performance;
  vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + ms);
}

test("the clock ticks every 10 ms while it has listeners, and stops otherwise", () => {
  const clock = new EventLoopClock();
  const { one, beats } = awaited();
  vi.advanceTimersByTime(1_000);
  expect(clock.now()).toBe(0);
  clock.addListener(one);
  vi.advanceTimersByTime(35);
  expect(beats).toEqual([10, 20, 30]);
  expect(clock.now()).toBe(35);
  clock.removeListener(one);
  vi.advanceTimersByTime(1_000);
  expect(clock.now()).toBe(40);
  expect(vi.getTimerCount()).toBe(0);
});

test("a listener that no longer waits at a tick is removed", () => {
  const clock = new EventLoopClock();
  const { one, beats } = awaited();
  const [done, once]: [number[], ClockListener] = [
    [],
    {
      keepsAlive: true,
      onTick(now) {
        done.push(now);
        return undefined;
      },
    },
  ];
  clock.addListener(one);
  clock.addListener(once);
  vi.advanceTimersByTime(30);
  expect([beats, done]).toEqual([[10, 20, 30], [10]]);
  clock.removeListener(one);
  clock.addListener(once);
  vi.advanceTimersByTime(100);
  expect(done).toEqual([10, 40]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a late tick, and the time since the last one, count at most 15 ms", () => {
  const clock = new EventLoopClock();
  const { one, beats } = awaited();
  clock.addListener(one);
  vi.advanceTimersByTime(10);
  stall(60_000);
  expect(clock.now()).toBe(25);
  vi.advanceTimersByTime(10);
  expect(beats).toEqual([10, 25]);
  vi.advanceTimersByTime(10);
  expect(beats).toEqual([10, 25, 35]);
});

test("the clock has one timer for all listeners, which ticks sooner if a listener needs it", () => {
  const clock = new EventLoopClock();
  const many = Array.from({ length: 100 }, () => awaited());
  for (const { one } of many) clock.addListener(one);
  expect(vi.getTimerCount()).toBe(1);
  const soon = awaited(true, 3);
  clock.addListener(soon.one);
  vi.advanceTimersByTime(17);
  expect(vi.getTimerCount()).toBe(1);
  expect(soon.beats).toEqual([10, 13, 16]);
});

test("the clock ticks as often as the shortest time to measure requires", () => {
  const { one, beats } = awaited();
  new EventLoopClock(2).addListener(one);
  vi.advanceTimersByTime(6);
  expect(beats).toEqual([2, 4, 6]);
});

test("the clock keeps the process alive only for listeners with keepsAlive", () => {
  const timers: MockInstance<typeof setTimeout> = vi.spyOn(globalThis, "setTimeout");
  const isAlive = (): boolean | undefined => timers.mock.results.at(-1)?.value.hasRef();
  const clock = new EventLoopClock();
  const [background, request] = [awaited(false), awaited()];
  clock.addListener(background.one);
  expect(isAlive()).toBe(false);
  clock.addListener(request.one);
  expect(isAlive()).toBe(true);
  vi.advanceTimersByTime(10);
  expect(isAlive()).toBe(true);
  clock.removeListener(request.one);
  clock.removeListener(request.one);
  vi.advanceTimersByTime(10);
  expect(isAlive()).toBe(false);
  expect(background.beats).toEqual([10, 20]);
});

test.each([
  ["steps back", -3_600_000],
  ["gives no time", Number.NaN],
])("goes on where the process's clock %s", (_, change) => {
  const clock = new EventLoopClock();
  const { one, beats } = awaited();
  clock.addListener(one);
  stall(change);
  vi.advanceTimersByTime(30);
  expect(beats).toHaveLength(3);
  expect(beats[2]).toBeGreaterThanOrEqual(30);
});
