import { codeOf } from "@headgate/core/internal";
import type { ActionPreview, Outage } from "../api.ts";

/** An error response: a status, a code, and a message that visitors may read. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** With 409: the action's current preview. */
  readonly preview: ActionPreview | undefined;
  /** With 503: the outage of Redis. */
  readonly outage: Outage | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    more: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly preview?: ActionPreview;
      readonly outage?: Outage | undefined;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = more.headers ?? {};
    this.preview = more.preview;
    this.outage = more.outage;
  }
}

/** For a body, a query or an action that is malformed. */
export function badRequest(message: string): HttpError {
  return new HttpError(400, "BAD_REQUEST", message);
}

/** For a result that is not that of the fleet, because Redis did not answer. */
export function storeUnavailable(outage?: Outage): HttpError {
  return new HttpError(503, "HEADGATE_STORE_UNAVAILABLE", "Redis did not answer", { outage });
}

/**
 * Calls core with a visitor's input. Its errors about that input, whose messages contain nothing else, become responses with 400; no
 * other message than the dashboard's own is shown, whatever code an error of the application has.
 */
export async function withInputErrors<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || !INPUT_ERROR_CODES.includes(code)) throw error;
    throw new HttpError(400, code, (error as Error).message);
  }
}

/** The codes of errors whose messages are about the input. */
const INPUT_ERROR_CODES: readonly string[] = [
  "HEADGATE_INVALID_OPTION",
  "HEADGATE_INVALID_LIMIT",
  "HEADGATE_INVALID_COST",
  "HEADGATE_EMPTY_KEY",
  "HEADGATE_INVALID_KEY",
];

/** For a limiter that does not exist, and for one that is hidden from the visitor, so that the two look alike. */
export function unknownLimiter(): HttpError {
  return new HttpError(404, "UNKNOWN_LIMITER", "there is no limiter of this name");
}
