import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HeadgateError } from "./errors.ts";
import { createOperatorLog } from "./operator-log.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("the same error is logged again an hour after it was logged, and not before", () => {
  const log = createOperatorLog();
  const write = vi.fn();
  log.addLog(write);
  const error = new HeadgateError("HEADGATE_WRONG_TYPE", "a key has another type");
  log.logThrottled(error);
  vi.advanceTimersByTime(HOUR_MS - 1);
  log.logThrottled(error);
  expect(write).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  log.logThrottled(error);
  expect(write).toHaveBeenCalledTimes(2);
});
