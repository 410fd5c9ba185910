import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { timeWindow } from "../machine/time-window.ts";
import { OutcomeBuffer } from "./outcome-buffer.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test("a buffer calls onDue once until its outcomes are taken, even if more are added", () => {
  const onDue = vi.fn();
  const outbox = new OutcomeBuffer({
    createBatch: () => timeWindow.createBatch(60_000_000),
    maxWaitMs: 250,
    onDue,
  });
  outbox.add("success", "any");
  vi.advanceTimersByTime(249);
  expect(outbox.isDue).toBe(false);
  vi.advanceTimersByTime(1);
  expect(outbox.isDue).toBe(true);
  outbox.add("failure", "any");
  vi.advanceTimersByTime(1_000);
  expect(onDue).toHaveBeenCalledTimes(1);
  outbox.take();
  outbox.add("success", "any");
  vi.advanceTimersByTime(250);
  expect(onDue).toHaveBeenCalledTimes(2);
});
