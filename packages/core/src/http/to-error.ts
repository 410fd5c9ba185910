import { formatKind, HeadgateError } from "../errors.ts";

/**
 * What a function of the application threw, as an error a framework will take for one. Frameworks go on with the request
 * when they are handed nothing, and Express takes some texts for instructions.
 */
export function toError(reason: unknown): Error {
  if (reason instanceof Error) return reason;
  return new HeadgateError(
    "HEADGATE_NO_ERROR",
    `a function of the application threw or rejected with ${formatKind(reason)}, which is no error`,
    { cause: reason },
  );
}
