import type { HeadgateError } from "../common/errors.ts";
import { codeOf } from "../common/errors.ts";
import type { OperatorLog } from "../common/operator-log.ts";

/** The errors of a store that did not do what it was asked. All other errors are the caller's. */
const STORE_FAILURE_CODES: readonly string[] = [
  "HEADGATE_STORE_UNAVAILABLE",
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_HASH_SLOT_UNAVAILABLE",
  "HEADGATE_WRONG_TYPE",
  "HEADGATE_BAD_REPLY",
];

/** Why the store did not answer; throws every other error. Errors that waiting will not fix are logged. */
export function toStoreFailure(error: unknown, log: OperatorLog): HeadgateError {
  const code = codeOf(error);
  if (code === undefined || !STORE_FAILURE_CODES.includes(code)) throw error;
  const reason = error as HeadgateError;
  if (code !== "HEADGATE_STORE_UNAVAILABLE") log.logThrottled(reason);
  return reason;
}

/** Returns if the store did not get the call; throws every other error, including that of a key that holds something else. */
export function requireUndelivered(error: unknown, log: OperatorLog): void {
  const code = codeOf(error);
  if (code === "HEADGATE_WRONG_TYPE" || code === "HEADGATE_BAD_REPLY") throw error;
  toStoreFailure(error, log);
}
