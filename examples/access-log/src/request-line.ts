import { METHODS } from "node:http";
import { sendablePath } from "./request-path.ts";

/** What is asked of the application in place of a request of the log. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
}

/** `METHOD target HTTP/1.1`; HTTP/0.9 had no version. Targets hold spaces where a client sent them unescaped. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]{1,32}) (\S.*?)(?: HTTP\/\d(?:\.\d)?)?$/;

/** A target is a path, `*`, an absolute address, or the host and port of CONNECT. */
const TARGET = /^(?:\/|\*$|[a-z][a-z0-9+.-]*:\/\/|[^/\s]+:\d+$)/i;

/** CONNECT asks for a tunnel, which never reaches an application. */
const SENDABLE: ReadonlySet<string> = new Set(METHODS.filter((method) => method !== "CONNECT"));

/**
 * Reads the first line of a request as logged; undefined where no request came (`-`, a TLS handshake, noise).
 * A method that cannot be sent becomes GET: the request counts all the same.
 */
export function parseRequestLine(text: string): LoggedRequest | undefined {
  const match = REQUEST_LINE.exec(text);
  const target = match?.[2];
  if (match === null || target === undefined || !TARGET.test(target)) return undefined;
  const method = match[1] as string;
  return { method: SENDABLE.has(method) ? method : "GET", path: sendablePath(target) };
}
