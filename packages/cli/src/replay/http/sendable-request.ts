import { METHODS } from "node:http";
import type { LoggedRequest } from "../../log/logged-request.ts";
import { forwardedFor } from "./forwarded-for.ts";
import { sendablePath } from "./request-path.ts";

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
