import type { HeadgateErrorCode } from "../common/errors.ts";
import { HeadgateError } from "../common/errors.ts";
import { emitWarning, formatWithCause } from "../common/operator-log.ts";
import { INDEX_STATES } from "./operations.ts";

/**
 * How the errors of servers that refuse writes begin, also inside a script's error. Other temporary errors mean that the server
 * does not answer.
 */
const REFUSAL = /(?:^|-)(?:READONLY|OOM|MISCONF|NOREPLICAS) /;

/**
 * Logs the first write that a server refuses, with a message made from the reason. Writes lost during an outage are not logged: they
 * are repeated, and the outage is logged by the calls that wait for an answer.
 */
export function logFirstRefusal(
  code: HeadgateErrorCode,
  formatMessage: (why: string) => string,
): (error: HeadgateError) => void {
  let isLogged = false;
  return (error) => {
    if (isLogged || !isRefusal(error)) return;
    isLogged = true;
    emitWarning(code, formatMessage(formatWithCause(error)));
  };
}

/** Whether a server refuses to store something, which its operator should know. */
function isRefusal({ code, cause }: HeadgateError): boolean {
  if (code !== "HEADGATE_STORE_UNAVAILABLE") return true;
  return cause instanceof Error && REFUSAL.test(cause.message);
}

/** The error for a key that holds something else; undefined for all other states. */
export function refusalOf(
  state: number | undefined,
  code: HeadgateErrorCode,
): HeadgateError | undefined {
  return state === INDEX_STATES.wrongType
    ? new HeadgateError(code, "its key holds a value of another type")
    : undefined;
}
