import { METHODS } from "node:http";
import { isIP } from "node:net";
import type { LoggedRequest } from "../../log/logged-request.ts";
import { escapeHostName } from "../subject-of-client.ts";

/** What is asked of an application in place of a request of the log. */
export interface SendableRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** CONNECT asks for a tunnel, which never reaches an application. */
const SENDABLE: ReadonlySet<string> = new Set(METHODS.filter((method) => method !== "CONNECT"));

/** A method that cannot be sent, or was not logged, becomes GET: the request counts all the same. */
export function sendableRequest({ method, path, client }: LoggedRequest): SendableRequest {
  return {
    method: SENDABLE.has(method) ? method : "GET",
    path: sendablePath(path),
    headers: { "x-forwarded-for": forwardedFor(client) },
  };
}

/**
 * The `X-Forwarded-For` with which a proxy says for whom it asks. A host name stands in it as it is, like an address;
 * whatever else a log may hold in its place must not look like a list.
 */
export function forwardedFor(client: string): string {
  if (isIP(client) !== 0) return client;
  return escapeHostName(client);
}

/** Longer paths could exceed what an HTTP server takes as a request's head. */
const MAX_PATH = 4_000;

/**
 * The path to ask for in place of a log's request target. It is the same wherever that can be sent; what a client, a server
 * or a router would refuse is escaped, and as a last resort it is `/`: a limiter counts requests, not paths.
 */
function sendablePath(target: string): string {
  const origin = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i.exec(target)?.[0] ?? "";
  const path = escapeRefused(unescapeLogged(target.toWellFormed().slice(origin.length)));
  if (!path.startsWith("/") || path.length > MAX_PATH) return "/";
  return isDecodable(path) ? path : path.replaceAll("%", "%25");
}

/** Apache writes quotes, backslashes and what cannot be printed as `\"`, `\\`, `\n` and `\xhh`; every `\xhh` is a byte. */
function unescapeLogged(text: string): string {
  return text.replace(/\\(?:x([0-9a-f]{2})|(.))/gi, (_, byte?: string, sign?: string) =>
    byte === undefined ? (sign as string) : `%${byte}`,
  );
}

function escapeRefused(text: string): string {
  return text.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
