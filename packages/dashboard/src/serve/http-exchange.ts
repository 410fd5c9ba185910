import type { IncomingMessage } from "node:http";
import type { ApiError } from "../api.ts";
import type { HttpError } from "./http-error.ts";

/** A request, as passed by an adapter. */
export interface HttpExchange {
  readonly raw: IncomingMessage;
  /** Below the mount path, without a leading slash: `""` for the page, `api/overview`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The body, if a middleware has already parsed it. */
  readonly parsedBody: unknown;
  authorize(): Promise<unknown>;
  /** Whether the application has responded itself. */
  isResponseSent(): boolean;
}

/** The response that an adapter writes. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

/** Splits the URL of a request: it may be absolute, and contain any bytes. */
export function splitUrl(url: string): { readonly path: string; readonly query: URLSearchParams } {
  const [target = ""] = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "").split("#");
  const at = target.indexOf("?");
  if (at === -1) return { path: target || "/", query: new URLSearchParams() };
  return { path: target.slice(0, at) || "/", query: new URLSearchParams(target.slice(at + 1)) };
}

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
  outage,
}: HttpError): HttpResponse {
  const body: ApiError = { error: { code, message }, preview, outage };
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

/** The headers of every response. They forbid inline content and other origins, and pages of other origins to frame, read or load it. */
export const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;
