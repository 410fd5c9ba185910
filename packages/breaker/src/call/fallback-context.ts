import type { FallbackContext } from "../breaker.ts";
import { HeadgateBreakerOpenError } from "../breaker-open-error.ts";
import type { RejectedCall } from "../channels.ts";
import type { CallResult } from "./make-call.ts";

/** Why the fallback is called for a rejected call. */
export class OpenFallbackContext {
  readonly reason = "open";
  readonly retryAfterMs: number;
  readonly #rejected: RejectedCall;
  #error: HeadgateBreakerOpenError | undefined;

  constructor(rejected: RejectedCall) {
    this.retryAfterMs = rejected.retryAfterMs;
    this.#rejected = rejected;
  }

  /** Created when it is read: it costs more than all the rest of a rejected call. */
  get error(): HeadgateBreakerOpenError {
    this.#error ??= new HeadgateBreakerOpenError(this.#rejected);
    return this.#error;
  }
}

/** Why the fallback is called for a call that failed. */
export function fallbackContextOf<Result>(result: CallResult<Result>): FallbackContext<Result> {
  if (result.how === "returned") return { reason: "result", result: result.result };
  if (result.how === "timeout") return { reason: "timeout", error: result.error };
  return { reason: "error", error: result.error };
}
