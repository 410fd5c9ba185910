import type { OutgoingRequest } from "./fetch-options.ts";

/** A request as its sender describes it. */
interface RequestParts extends Pick<OutgoingRequest, "url" | "method" | "body"> {
  readonly headers: () => Headers;
}

/** Describes a request for functions of the application. Its headers are made when they are first read. */
export function outgoingRequest({ url, method, headers, body }: RequestParts): OutgoingRequest {
  let made: Headers | undefined;
  return {
    url,
    method: method.toUpperCase(),
    body,
    get headers() {
      made ??= headers();
      return made;
    },
  };
}

/** Whether a body can be sent again. A stream or another iterator cannot: it is over after the first time. */
export function isReusable(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return true;
  return !("getReader" in body || "pipe" in body || "next" in body || Symbol.asyncIterator in body);
}

/** Methods that may be sent again although the server may have acted on them (RFC 9110, section 9.2.2). */
const IDEMPOTENT: readonly string[] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

/** Whether a request may be sent again although the server may have acted on it. */
export function isIdempotent({ method, headers }: OutgoingRequest): boolean {
  return IDEMPOTENT.includes(method) || headers.has("idempotency-key");
}
