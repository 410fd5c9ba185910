import type { ActionPreview, ApiError, Outage } from "../../../src/api.ts";

/** A request that failed: a response with an error status, or no response. */
export class Failure extends Error {
  /** Undefined if the server did not respond. */
  readonly status: number | undefined;
  /** The milliseconds to wait before the next request, according to the server. */
  readonly retryAfterMs: number | undefined;
  /** The action's current preview, after 409. */
  readonly preview: ActionPreview | undefined;
  /** The outage of Redis, after 503. */
  readonly outage: Outage | undefined;

  constructor(
    status: number | undefined,
    message: string,
    rest: Partial<Pick<Failure, "retryAfterMs" | "preview" | "outage">> = {},
  ) {
    super(message);
    this.name = "Failure";
    this.status = status;
    this.retryAfterMs = rest.retryAfterMs;
    this.preview = rest.preview;
    this.outage = rest.outage;
  }
}

/** Parses the body of a response with an error status; a body in another format gives no message. */
export function parseFailure(status: number, body: unknown, retryAfter: string | null): Failure {
  const { error, preview, outage } = (body ?? {}) as Partial<ApiError>;
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  return new Failure(status, typeof error?.message === "string" ? error.message : "", {
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : undefined,
    preview,
    outage,
  });
}

/** Any error as a `Failure`. */
export function asFailure(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure(undefined, "");
}

const MESSAGES: Readonly<Record<number, string>> = {
  400: "The server did not understand the request.",
  401: "You are not signed in. Sign in, then load this page again.",
  403: "You may not do this.",
  404: "There is nothing of this name that you may see.",
  409: "The state has changed since it was shown.",
  413: "The request is too long.",
  429: "Too many actions.",
  503: "Redis does not answer.",
};

/** A failure as text: the server's message, or else a text for the status. */
export function formatFailure({ status, message, retryAfterMs }: Failure): string {
  const known =
    status === undefined
      ? "The dashboard's server does not answer."
      : (MESSAGES[status] ?? `The server answered with ${status}.`);
  const words = message === "" ? known : `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`;
  const wait =
    retryAfterMs === undefined ? "" : ` Try again in ${Math.ceil(retryAfterMs / 1_000)} s.`;
  return `${words.replace(/([.!?])\.$/, "$1")}${wait}`;
}

/**
 * Whether the same request will always fail. A missing item (404) may still appear: a process lists its limiters ten seconds
 * after it has started, and again after Redis has lost its data.
 */
export function isPermanent({ status }: Failure): boolean {
  return status !== undefined && [400, 401, 403, 413].includes(status);
}
