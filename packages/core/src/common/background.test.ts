import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackgroundTimer } from "./background.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function startAlarm() {
  const ring = vi.fn();
  return { alarm: new BackgroundTimer(ring), ring };
}

test("a timer fires once, at the last time that was set", () => {
  const { alarm: timer, ring } = startAlarm();
  timer.set(100);
  timer.set(200);
  vi.advanceTimersByTime(199);
  expect(ring).not.toHaveBeenCalled();
  expect(timer.isSet).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(ring).toHaveBeenCalledOnce();
  expect(timer.isSet).toBe(false);
});

test("setNoLater moves a timer forward, and never back", () => {
  const { alarm: timer, ring } = startAlarm();
  timer.setNoLater(100);
  timer.setNoLater(50);
  timer.setNoLater(200);
  vi.advanceTimersByTime(50);
  expect(ring).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(1_000);
  expect(ring).toHaveBeenCalledOnce();
  timer.setNoLater(200);
  vi.advanceTimersByTime(200);
  expect(ring).toHaveBeenCalledTimes(2);
});

test("a stopped timer does not fire", () => {
  const { alarm: timer, ring } = startAlarm();
  timer.set(100);
  timer.stop();
  vi.advanceTimersByTime(1_000);
  expect(ring).not.toHaveBeenCalled();
  timer.setNoLater(2_000);
  vi.advanceTimersByTime(2_000);
  expect(ring).toHaveBeenCalledOnce();
});

test("a timer fires outside of the request in which it was set", () => {
  vi.useRealTimers();
  const requests = new AsyncLocalStorage<string>();
  return new Promise<void>((resolve) => {
    const timer = new BackgroundTimer(() => {
      expect(requests.getStore()).toBeUndefined();
      resolve();
    });
    requests.run("a request", () => timer.set(1));
  });
});
