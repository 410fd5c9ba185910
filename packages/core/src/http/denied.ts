import type { Decision } from "../decision.ts";
import { HeadgateError } from "../errors.ts";
import { toProblem } from "./problem.ts";

/** A denial as an error, for the framework's error handler (`onDenied: "error"`). The response's headers are already set. */
export class HeadgateDenied extends HeadgateError {
  override readonly name = "HeadgateDenied";
  /** The HTTP status: 429, or 503 if the store could not answer and `onUnavailable` is `"deny"`. */
  readonly status: number;
  readonly statusCode: number;
  readonly decision: Decision;

  constructor(decision: Decision) {
    const { status, title } = toProblem(decision);
    super("HEADGATE_DENIED", title);
    this.status = status;
    this.statusCode = status;
    this.decision = decision;
  }
}
