import { HeadgateError } from "@headgate/core";
import { onceAborted } from "@headgate/core/internal";
import type { CallContext } from "../breaker.ts";

/** How a call ended, as its caller sees it. */
export type Ending<Result> =
  | { readonly how: "returned"; readonly result: Result }
  | { readonly how: "threw"; readonly error: unknown }
  | { readonly how: "timeout"; readonly error: Error }
  | { readonly how: "aborted"; readonly error: unknown };

/** Makes a call, and stops waiting for it when its signal aborts or its time is over, whether or not the call listens. */
export function makeCall<Result>(
  call: (context: CallContext) => Result | Promise<Result>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): Promise<Ending<Result>> {
  const isBounded = signal !== undefined || timeoutMs !== undefined;
  return isBounded ? makeBounded(call, signal, timeoutMs) : endingOf(call, new LazyContext());
}

async function makeBounded<Result>(
  call: (context: CallContext) => Result | Promise<Result>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): Promise<Ending<Result>> {
  const controller = new AbortController();
  let giveUp: (ending: Ending<Result>) => void = () => {};
  const givenUp = new Promise<Ending<Result>>((resolve) => {
    giveUp = (ending) => {
      resolve(ending);
      controller.abort((ending as { readonly error?: unknown }).error);
    };
  });
  const forget =
    signal === undefined ? undefined : onceAborted(signal, () => giveUp(endingBy(signal.reason)));
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => giveUp({ how: "timeout", error: late(timeoutMs) }), timeoutMs);
  try {
    return await Promise.race([givenUp, endingOf(call, { signal: controller.signal })]);
  } finally {
    clearTimeout(timer);
    forget?.();
  }
}

async function endingOf<Result>(
  call: (context: CallContext) => Result | Promise<Result>,
  context: CallContext,
): Promise<Ending<Result>> {
  try {
    return { how: "returned", result: await call(context) };
  } catch (error) {
    return { how: "threw", error };
  }
}

/** A signal of `AbortSignal.timeout` is a timeout too, also if it is the caller's: the call took too long. */
function endingBy(reason: unknown): Ending<never> {
  const isTimeout = reason instanceof DOMException && reason.name === "TimeoutError";
  return isTimeout ? { how: "timeout", error: reason } : { how: "aborted", error: reason };
}

function late(timeoutMs: number): HeadgateError {
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
