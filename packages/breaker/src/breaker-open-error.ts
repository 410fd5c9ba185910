import { HeadgateError } from "@headgate/core";
import type { RejectedCall } from "./channels.ts";
import type { BreakerState } from "./machine/period.ts";

const NOT_LET_THROUGH = "the breaker does not let this call through: it is";

const MESSAGES: Readonly<Record<BreakerState, string>> = {
  closed: `${NOT_LET_THROUGH} closed again, and lets only a growing part of the calls through`,
  open: `${NOT_LET_THROUGH} open`,
  "half-open": `${NOT_LET_THROUGH} half-open, and waits for its trial calls`,
  "forced-open": `${NOT_LET_THROUGH} forced open`,
  disabled: `${NOT_LET_THROUGH} disabled`,
  "metrics-only": `${NOT_LET_THROUGH} metrics only`,
};

/** The breaker rejected a call. Recognise it by its `code`, `HEADGATE_BREAKER_OPEN`. */
export class HeadgateBreakerOpenError extends HeadgateError {
  override readonly name = "HeadgateBreakerOpenError";
  /** The breaker's name. */
  readonly breaker: string;
  readonly target: string;
  readonly state: BreakerState;
  /** Milliseconds until a retry may be allowed, rounded up; Infinity after `forceOpen`. */
  readonly retryAfterMs: number;
  readonly degraded: boolean;

  constructor(rejected: RejectedCall) {
    super("HEADGATE_BREAKER_OPEN", MESSAGES[rejected.state]);
    this.breaker = rejected.breaker;
    this.target = rejected.target;
    this.state = rejected.state;
    this.retryAfterMs = rejected.retryAfterMs;
    this.degraded = rejected.degraded;
  }
}
