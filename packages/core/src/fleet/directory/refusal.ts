import type { HeadgateErrorCode } from "../../base/errors.ts";
import { HeadgateError } from "../../base/errors.ts";
import { explain, warn } from "../../base/notices.ts";
import { INDEX_STATES } from "./step.ts";

/**
 * How the errors of servers that refuse writes begin, also inside a script's error. Other temporary errors mean that the server
 * does not answer.
 */
const REFUSAL = /(?:^|-)(?:READONLY|OOM|MISCONF|NOREPLICAS) /;

/** Why nothing was written, for the log. */
export const OTHER_FORMAT = "another version of Headgate keeps it in another format";
export const TOO_LONG = "its key holds more than any version writes; delete the key";
export const WRONG_TYPE = "its key holds a value of another type";

/**
 * Logs the first write that a server refuses, in words made from the reason. Writes lost during an outage are not logged: they
 * are repeated, and the outage is logged by the calls that wait for an answer.
 */
export function onceRefused(
  code: HeadgateErrorCode,
  wordsOf: (why: string) => string,
): (error: HeadgateError) => void {
  let isLogged = false;
  return (error) => {
    if (isLogged || !isRefusal(error)) return;
    isLogged = true;
    warn(code, wordsOf(explain(error)));
  };
}

/** Whether a server refuses to store something, which its operator should know. */
function isRefusal({ code, cause }: HeadgateError): boolean {
  if (code !== "HEADGATE_STORE_UNAVAILABLE") return true;
  return cause instanceof Error && REFUSAL.test(cause.message);
}

/** Why the index has no line for this process; undefined if it has one. */
export function refusalOf(state: number | undefined): HeadgateError | undefined {
  const code = "HEADGATE_DIRECTORY_REFUSED";
  if (state === INDEX_STATES.full) return new HeadgateError(code, "it is full");
  if (state === INDEX_STATES.otherFormat) return new HeadgateError(code, OTHER_FORMAT);
  if (state === INDEX_STATES.tooLong) return new HeadgateError(code, TOO_LONG);
  if (state === INDEX_STATES.wrongType) return new HeadgateError(code, WRONG_TYPE);
  return undefined;
}
