import { HeadgateError } from "@headgate/core";
import type { RejectedCall } from "./channels.ts";
import type { BreakerState } from "./machine/period.ts";

const NOT = "the breaker does not let this call through: it is";

const MESSAGES: Readonly<Record<BreakerState, string>> = {
  closed: `${NOT} closed again, and lets only a growing part of the calls through`,
  open: `${NOT} open`,
  "half-open": `${NOT} half-open, and waits for its trial calls`,
  "forced-open": `${NOT} forced open`,
  disabled: `${NOT} disabled`,
  "metrics-only": `${NOT} metrics only`,
};

/** The breaker did not let a call through. Recognise it by its `code`, `HEADGATE_BREAKER_OPEN`. */
export class HeadgateBreakerOpen extends HeadgateError {
  override readonly name = "HeadgateBreakerOpen";
  /** The breaker's name. */
  readonly breaker: string;
  readonly target: string;
  readonly state: BreakerState;
  /** When to ask again: milliseconds, rounded up; Infinity if the breaker was opened by hand. */
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
