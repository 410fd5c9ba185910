import type { Refusal } from "../breaker.ts";
import { HeadgateBreakerOpen } from "../breaker-open.ts";
import type { RejectedCall } from "../channels.ts";
import type { Ending } from "./made-call.ts";

/** Why the fallback is called for a call that was not let through. */
export class OpenRefusal {
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
export function refusalOf<Result>(ending: Ending<Result>): Refusal<Result> {
  if (ending.how === "returned") return { because: "result", result: ending.result };
  if (ending.how === "timeout") return { because: "timeout", error: ending.error };
  return { because: "error", error: ending.error };
}
