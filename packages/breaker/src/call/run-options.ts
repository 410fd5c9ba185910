import type { HeadgateError } from "@headgate/core";
import {
  formatKind,
  formatNumber,
  invalidValue,
  parseDuration,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";
import type { RunOptions } from "../breaker.ts";

export const NO_OPTIONS = {};

const MAX_TIMEOUT_MS = 86_400_000;

/** Checks a call and its options; returns the timeout in milliseconds, if there is one. Throws `HEADGATE_INVALID_OPTION`. */
export function readRunOptions<T>(call: unknown, options: RunOptions<T>): number | undefined {
  if (typeof call !== "function") throw invalidRunOption("call must be a function", call);
  if (options === NO_OPTIONS) return undefined;
  rejectUnknownOptions("run", options, ["fallback", "signal", "timeout"]);
  const { fallback, signal, timeout } = options;
  if (fallback !== undefined && typeof fallback !== "function") {
    throw invalidRunOption("fallback must be a function", fallback);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidRunOption("signal must be an AbortSignal", signal);
  }
  return timeout === undefined ? undefined : readTimeout(timeout);
}

function readTimeout(timeout: unknown): number {
  const time = parseDuration(timeout, "timeout", "HEADGATE_INVALID_OPTION", formatNumber);
  const timeoutMs = toMilliseconds(time);
  if (timeoutMs > MAX_TIMEOUT_MS) {
    throw invalidRunOption("timeout must be at most 1 day", timeout, formatNumber);
  }
  return timeoutMs;
}

function invalidRunOption(rule: string, received: unknown, format = formatKind): HeadgateError {
  return invalidValue(`run: ${rule}`, received, format);
}
