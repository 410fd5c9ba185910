import { HeadgateError } from "@headgate/core";
import { addAbortCallback } from "@headgate/core/internal";
import type { CallContext } from "../breaker.ts";

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
