import type { ApiError } from "../api.ts";
import type { Answer } from "./exchange.ts";
import type { Refusal } from "./refusal.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";

/** An answer of `api/`. */
export function jsonAnswer(
  body: object,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: {
      ...SECURITY_HEADERS,
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      ...headers,
    },
    // A lone surrogate is written as an escape, so that the page gets exactly what Redis has.
    body: JSON.stringify(body),
  };
}

/** The answer to a request that is refused. */
export function refusedAnswer({ status, code, message, headers, preview }: Refusal): Answer {
  const body: ApiError = { error: { code, message }, preview };
  return jsonAnswer(body, status, headers);
}

/** An answer of one line. */
export function textAnswer(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: {
      ...SECURITY_HEADERS,
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      ...headers,
    },
    body: `${text}\n`,
  };
}
