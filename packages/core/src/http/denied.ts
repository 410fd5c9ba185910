import type { Decision } from "../decision.ts";
import { HeadgateError } from "../errors.ts";
import { toProblem } from "./problem.ts";

/** A denial as an error, for the framework's own error handler (`onDenied: "error"`). Its headers are set on the response already. */
export class HeadgateDenied extends HeadgateError {
  override readonly name = "HeadgateDenied";
  /** 429; 503 when the store was away and `onUnavailable` is `"deny"`. */
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
