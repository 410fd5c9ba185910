import type { ApiError } from "../api.ts";
import type { HttpError } from "./http-error.ts";
import type { HttpResponse } from "./http-exchange.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";

/** A response with JSON. */
export function jsonResponse(
  body: object,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  // JSON escapes unpaired surrogates, so that the page gets exactly the text in Redis.
  return createResponse(status, "application/json", JSON.stringify(body), headers);
}

/** The response for an `HttpError`. */
export function errorResponse({
  status,
  code,
  message,
  headers,
  preview,
}: HttpError): HttpResponse {
  const body: ApiError = { error: { code, message }, preview };
  return jsonResponse(body, status, headers);
}

/** A response with one line of plain text. */
export function textResponse(status: number, text: string): HttpResponse {
  return createResponse(status, "text/plain", `${text}\n`);
}

function createResponse(
  status: number,
  type: string,
  body: string,
  headers?: Readonly<Record<string, string>>,
): HttpResponse {
  return {
    status,
    headers: {
      ...SECURITY_HEADERS,
      "content-type": `${type}; charset=utf-8`,
      "cache-control": "no-store",
      ...headers,
    },
    body,
  };
}
