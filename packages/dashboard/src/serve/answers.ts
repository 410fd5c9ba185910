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
  // A lone surrogate is written as an escape, so that the page gets exactly what Redis has.
  return answerOf(status, "application/json", JSON.stringify(body), headers);
}

/** The answer to a request that is refused. */
export function refusedAnswer({ status, code, message, headers, preview }: Refusal): Answer {
  const body: ApiError = { error: { code, message }, preview };
  return jsonAnswer(body, status, headers);
}

/** An answer of one line. */
export function textAnswer(status: number, text: string): Answer {
  return answerOf(status, "text/plain", `${text}\n`);
}

function answerOf(
  status: number,
  type: string,
  body: string,
  headers?: Readonly<Record<string, string>>,
): Answer {
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
