import { METHODS } from "node:http";
import { isIP } from "node:net";
import type { LogEntry } from "../../log/log-entry.ts";
import { escapeHostName } from "../client-table.ts";

/** The request that is sent to the application for a request of the log. */
export interface SendableRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** CONNECT opens a tunnel and never reaches an application. */
const SENDABLE: ReadonlySet<string> = new Set(METHODS.filter((method) => method !== "CONNECT"));

/** Makes a request sendable. A method that cannot be sent, or was not logged, becomes GET, because the request counts anyway. */
export function sendableRequest({ method = "", path = "", client }: LogEntry): SendableRequest {
  return {
    method: SENDABLE.has(method) ? method : "GET",
    path: sendablePath(path),
    headers: { "x-forwarded-for": forwardedFor(client) },
  };
}

/**
 * The `X-Forwarded-For` header for a client. Addresses and host names stay unchanged; other texts are escaped, so that they cannot
 * look like a list.
 */
export function forwardedFor(client: string): string {
  if (isIP(client) !== 0) return client;
  return escapeHostName(client);
}

/** Longer paths could exceed the size that an HTTP server accepts for headers. */
const MAX_PATH = 4_000;

/**
 * The path to send for a request target of the log. Characters that a client, a server or a router would refuse are escaped. If the path
 * cannot be sent at all, it becomes `/`, because the limiter counts requests, not paths.
 */
function sendablePath(target: string): string {
  const origin = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i.exec(target)?.[0] ?? "";
  const path = escapeRefused(unescapeLogged(target.toWellFormed().slice(origin.length)));
  if (!path.startsWith("/") || path.length > MAX_PATH) return "/";
  return isDecodable(path) ? path : path.replaceAll("%", "%25");
}

/** Apache logs quotes, backslashes and unprintable characters as `\"`, `\\`, `\n` and `\xhh`; every `\xhh` is a byte. */
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
