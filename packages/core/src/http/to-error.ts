import { formatKind, HeadgateError } from "../errors.ts";

/**
 * What a function of the application threw, as an error that frameworks recognise. Frameworks go on with the request
 * if they get nothing, and Express takes some strings for instructions.
 */
export function toError(reason: unknown): Error {
  if (reason instanceof Error) return reason;
  return new HeadgateError(
    "HEADGATE_NO_ERROR",
    `a function of the application threw or rejected with ${formatKind(reason)}, which is not an Error`,
    { cause: reason },
  );
}
