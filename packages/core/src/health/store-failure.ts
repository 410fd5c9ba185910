import type { HeadgateError } from "../common/errors.ts";
import { codeOf } from "../common/errors.ts";
import type { OperatorLog } from "../common/operator-log.ts";

/** The error codes of a store that did not carry out a call. All other errors are the caller's. */
const STORE_FAILURE_CODES: readonly string[] = [
  "HEADGATE_STORE_UNAVAILABLE",
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_HASH_SLOT_UNAVAILABLE",
  "HEADGATE_WRONG_TYPE",
  "HEADGATE_BAD_REPLY",
];

/**
 * Returns the error of a store that did not carry out a call, and throws every other error. Errors that waiting will not fix
 * are logged.
 */
export function toStoreFailure(error: unknown, log: OperatorLog): HeadgateError {
  const code = codeOf(error);
  if (code === undefined || !STORE_FAILURE_CODES.includes(code)) throw error;
  const reason = error as HeadgateError;
  if (code !== "HEADGATE_STORE_UNAVAILABLE") log.logThrottled(reason);
  return reason;
}

/** Returns if the store did not receive the call. Throws every other error, including that of a key of a wrong type. */
export function requireUndelivered(error: unknown, log: OperatorLog): void {
  const code = codeOf(error);
  if (code === "HEADGATE_WRONG_TYPE" || code === "HEADGATE_BAD_REPLY") throw error;
  toStoreFailure(error, log);
}
