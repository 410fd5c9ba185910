import { HeadgateError } from "@headgate/core";
import type { RejectedCall } from "./channels.ts";
import type { BreakerState } from "./machine/period.ts";

/** A call was not let through. Known by its code, `HEADGATE_BREAKER_OPEN`. */
export class HeadgateBreakerOpen extends HeadgateError {
  override readonly name = "HeadgateBreakerOpen";
  /** The breaker's name. */
  readonly breaker: string;
  readonly target: string;
  readonly state: BreakerState;
  /** When to ask again: milliseconds, rounded up; Infinity where it was opened by hand. */
  readonly retryAfterMs: number;
  readonly degraded: boolean;

  constructor(rejected: RejectedCall) {
    super("HEADGATE_BREAKER_OPEN", `the breaker lets no call through: it is ${rejected.state}`);
    this.breaker = rejected.breaker;
    this.target = rejected.target;
    this.state = rejected.state;
    this.retryAfterMs = rejected.retryAfterMs;
    this.degraded = rejected.degraded;
  }
}
