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
  return createResponse(status, "application/json", textOf(body), headers);
}

const texts = new WeakMap<object, string>();

/** A body as JSON, which is made once for a result that visitors share. */
function textOf(body: object): string {
  const known = texts.get(body);
  if (known !== undefined) return known;
  // JSON escapes unpaired surrogates, so that the page gets exactly the text in Redis.
  const text = JSON.stringify(body);
  texts.set(body, text);
  return text;
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
