// The errors of an API in one shape, in the manner of dub.co: a code for programs, a message for people, and a page that explains.

import type { Decision, Limit } from "@headgate/core";
import { fixedWindow } from "@headgate/core";

const STATUSES = {
  bad_request: 400,
  not_found: 404,
  rate_limit_exceeded: 429,
  internal_server_error: 500,
  service_unavailable: 503,
} as const;

export type Code = keyof typeof STATUSES;

/** The error response of the API. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: Code;
  readonly statusCode: number;

  constructor(code: Code, message: string) {
    super(message);
    this.code = code;
    this.statusCode = STATUSES[code];
  }

  /** The body of the answer. */
  toJSON(): object {
    const page = this.code.replaceAll("_", "-");
    const doc_url = `https://dub.co/docs/api-reference/errors#${page}`;
    return { error: { code: this.code, message: this.message, doc_url } };
  }
}

/** The error of a denied request. Its answer keeps the headers that Headgate has set. */
export function denied({ source }: Decision): ApiError {
  // The store did not answer, and onUnavailable is "deny": that is no fault of the client's.
  if (source === "deny") return new ApiError("service_unavailable", "Try again in a moment.");
  return new ApiError("rate_limit_exceeded", "Too many requests.");
}

/** An error of any kind as one of the API's, which tells clients nothing of what went wrong inside. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("internal_server_error", "An unexpected error occurred.");
}

/** Each workspace, by the token that its requests carry. */
export const perWorkspace: Limit<"workspace"> = fixedWindow({
  limit: 60,
  window: "1m",
  per: "workspace",
});
