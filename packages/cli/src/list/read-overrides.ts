import { HeadgateError } from "@headgate/core";
import type { Admin, Override } from "@headgate/core/admin";
import { explainError } from "../connect/explain-error.ts";
import { withTimesInMs } from "../output/override.ts";

/** Errors that prevent reading the overrides only. */
const NON_FATAL_CODES: readonly string[] = [
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_CONTROL_CORRUPT",
  "HEADGATE_WRONG_TYPE",
];

/**
 * Reads the overrides that have not expired, with times in milliseconds since the epoch, by the server's clock. Resolves with the reason
 * if they cannot be read. Rejects if the store does not answer.
 */
export async function readOverrides(admin: Admin): Promise<readonly Override[] | string> {
  try {
    const { overrides } = await admin.readControl();
    return overrides.map(withTimesInMs);
  } catch (error) {
    if (!(error instanceof HeadgateError && NON_FATAL_CODES.includes(error.code))) throw error;
    return error.cause === undefined ? error.message : explainError(error.cause);
  }
}
