import { HeadgateError } from "@headgate/core";
import type { Override } from "@headgate/core/operate";
import { explainError } from "../connect/explain-error.ts";
import type { Session } from "../connect/session.ts";

/** What may keep the overrides from being read while the rest can be. */
const APART: readonly string[] = [
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_CONTROL_DAMAGED",
  "HEADGATE_WRONG_TYPE",
];

/** An override whose times are milliseconds since the epoch, by the server's clock. */
export interface KnownOverride extends Omit<Override, "from" | "until"> {
  readonly from: number;
  /** Null: until it is removed. */
  readonly until: number | null;
}

/** The overrides that have not ended; or why they cannot be read. Rejects where the store does not answer. */
export async function readOverrides({
  operator,
  now,
}: Pick<Session, "operator" | "now">): Promise<readonly KnownOverride[] | string> {
  try {
    const { overrides } = await operator.readControl();
    return overrides
      .map(({ from, until, ...rest }) => ({
        ...rest,
        from: toMs(from),
        until: until === null ? null : toMs(until),
      }))
      .filter(({ until }) => until === null || until > now());
  } catch (error) {
    if (!(error instanceof HeadgateError && APART.includes(error.code))) throw error;
    return error.cause === undefined ? error.message : explainError(error.cause);
  }
}

function toMs(microseconds: number): number {
  return Math.ceil(microseconds / 1_000);
}
