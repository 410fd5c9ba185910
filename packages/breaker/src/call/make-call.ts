import { HeadgateError } from "@headgate/core";
import {
  addAbortCallback,
  formatKind,
  formatNumber,
  invalidValue,
  parseDuration,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";
import type { CallContext, RunOptions } from "../breaker.ts";
import type { Settings } from "../breaker-options.ts";
import type { Outcome } from "../channels.ts";

/** How a call ended, as its caller sees it. */
export type CallResult<Result> =
  | { readonly how: "returned"; readonly result: Result }
  | { readonly how: "threw"; readonly error: unknown }
  | { readonly how: "timeout"; readonly error: Error }
  | { readonly how: "aborted"; readonly error: unknown };

/** Makes a call, and stops waiting for it when its signal aborts or its time is over, whether or not the call listens. */
export function makeCall<Result>(
  call: (context: CallContext) => Result | Promise<Result>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): Promise<CallResult<Result>> {
  const isBounded = signal !== undefined || timeoutMs !== undefined;
  return isBounded
    ? makeAbortableCall(call, signal, timeoutMs)
    : settleCall(call, new LazyContext());
}

/** How a call counts. Throws what `isFailure` throws. */
export function classifyCall<Result>(
  result: CallResult<Result>,
  { abortOutcome, isFailure }: Settings<Result>,
): Outcome | "ignore" {
  if (result.how === "timeout") return "failure";
  if (result.how === "aborted") return abortOutcome;
  if (isFailure === undefined) return result.how === "threw" ? "failure" : "success";
  const verdict: unknown = isFailure(
    result.how === "threw"
      ? { status: "rejected", reason: result.error }
      : { status: "fulfilled", value: result.result },
  );
  if (verdict === "ignore") return "ignore";
  if (typeof verdict === "boolean") return verdict ? "failure" : "success";
  // A promise, which an async function returns, would make every call a failure.
  throw invalidValue('isFailure must return true, false or "ignore"', verdict, formatKind);
}

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

async function makeAbortableCall<Result>(
  call: (context: CallContext) => Result | Promise<Result>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): Promise<CallResult<Result>> {
  const controller = new AbortController();
  let abandon: (result: CallResult<Result>) => void = () => {};
  const abandoned = new Promise<CallResult<Result>>((resolve) => {
    abandon = (result) => {
      resolve(result);
      controller.abort((result as { readonly error?: unknown }).error);
    };
  });
  const stopListening =
    signal === undefined
      ? undefined
      : addAbortCallback(signal, () => abandon(abortedResult(signal.reason)));
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => abandon({ how: "timeout", error: timeoutError(timeoutMs) }), timeoutMs);
  try {
    return await Promise.race([abandoned, settleCall(call, { signal: controller.signal })]);
  } finally {
    clearTimeout(timer);
    stopListening?.();
  }
}

async function settleCall<Result>(
  call: (context: CallContext) => Result | Promise<Result>,
  context: CallContext,
): Promise<CallResult<Result>> {
  try {
    return { how: "returned", result: await call(context) };
  } catch (error) {
    return { how: "threw", error };
  }
}

/** A signal of `AbortSignal.timeout` is a timeout too, also if it is the caller's: the call took too long. */
function abortedResult(reason: unknown): CallResult<never> {
  const isTimeout = reason instanceof DOMException && reason.name === "TimeoutError";
  return isTimeout ? { how: "timeout", error: reason } : { how: "aborted", error: reason };
}

function timeoutError(timeoutMs: number): HeadgateError {
  return new HeadgateError(
    "HEADGATE_BREAKER_TIMEOUT",
    `the call took longer than its timeout of ${timeoutMs} ms`,
  );
}

/** Creates a signal that nothing aborts, only for calls that read it. */
class LazyContext implements CallContext {
  get signal(): AbortSignal {
    return new AbortController().signal;
  }
}
