import type { FallbackContext } from "../breaker.ts";
import { HeadgateBreakerOpen } from "../breaker-open.ts";
import type { RejectedCall } from "../channels.ts";
import type { CallResult } from "./make-call.ts";

/** Why the fallback is called for a call that was not let through. */
export class OpenFallbackContext {
  readonly because = "open";
  readonly retryAfterMs: number;
  readonly #rejected: RejectedCall;
  #error: HeadgateBreakerOpen | undefined;

  constructor(rejected: RejectedCall) {
    this.retryAfterMs = rejected.retryAfterMs;
    this.#rejected = rejected;
  }

  /** Created when it is read: it costs more than all the rest of a call that is not let through. */
  get error(): HeadgateBreakerOpen {
    this.#error ??= new HeadgateBreakerOpen(this.#rejected);
    return this.#error;
  }
}

/** Why the fallback is called for a call that failed. */
export function fallbackContextOf<Result>(result: CallResult<Result>): FallbackContext<Result> {
  if (result.how === "returned") return { because: "result", result: result.result };
  if (result.how === "timeout") return { because: "timeout", error: result.error };
  return { because: "error", error: result.error };
}
