import type { Decision } from "../decision.ts";
import { HeadgateError } from "../errors.ts";

/** A denial as an error, for the framework's own error handler (`onDenied: "error"`). Its headers are set on the response already. */
export class HeadgateDenied extends HeadgateError {
  override readonly name = "HeadgateDenied";
  readonly status = 429;
  readonly statusCode = 429;
  readonly decision: Decision;

  constructor(decision: Decision) {
    super("HEADGATE_DENIED", "Too Many Requests");
    this.decision = decision;
  }
}
