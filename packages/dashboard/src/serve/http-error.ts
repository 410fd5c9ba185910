import type { ActionPreview } from "../api.ts";

/** An error response: a status, a code, and a message that visitors may read. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** With 409: the action's current preview. */
  readonly preview: ActionPreview | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    more: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly preview?: ActionPreview;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = more.headers ?? {};
    this.preview = more.preview;
  }
}

/** For a body, a query or an action that is malformed. */
export function badRequest(message: string): HttpError {
  return new HttpError(400, "BAD_REQUEST", message);
}

/** For a limiter that does not exist, and for one that is hidden from the visitor, so that the two look alike. */
export function unknownLimiter(): HttpError {
  return new HttpError(404, "UNKNOWN_LIMITER", "there is no limiter of this name");
}
