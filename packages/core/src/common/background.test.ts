import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Alarm } from "./background.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function startAlarm() {
  const ring = vi.fn();
  return { alarm: new Alarm(ring), ring };
}

test("an alarm rings once, at the last time that was set", () => {
  const { alarm, ring } = startAlarm();
  alarm.set(100);
  alarm.set(200);
  vi.advanceTimersByTime(199);
  expect(ring).not.toHaveBeenCalled();
  expect(alarm.isSet).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(ring).toHaveBeenCalledOnce();
  expect(alarm.isSet).toBe(false);
});

test("an alarm that is set to ring by a time rings earlier, and never later", () => {
  const { alarm, ring } = startAlarm();
  alarm.setBy(100);
  alarm.setBy(200);
  alarm.setBy(50);
  vi.advanceTimersByTime(50);
  expect(ring).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(1_000);
  expect(ring).toHaveBeenCalledOnce();
  alarm.setBy(200);
  vi.advanceTimersByTime(200);
  expect(ring).toHaveBeenCalledTimes(2);
});

test("an alarm that was stopped does not ring", () => {
  const { alarm, ring } = startAlarm();
  alarm.set(100);
  alarm.stop();
  vi.advanceTimersByTime(1_000);
  expect(ring).not.toHaveBeenCalled();
  alarm.setBy(2_000);
  vi.advanceTimersByTime(2_000);
  expect(ring).toHaveBeenCalledOnce();
});

test("an alarm rings outside of the request in which it was set", () => {
  vi.useRealTimers();
  const requests = new AsyncLocalStorage<string>();
  return new Promise<void>((resolve) => {
    const alarm = new Alarm(() => {
      expect(requests.getStore()).toBeUndefined();
      resolve();
    });
    requests.run("a request", () => alarm.set(1));
  });
});
