import type { IncomingMessage } from "node:http";

/** A request, as passed by an adapter. */
export interface HttpExchange {
  /** The request with its stream. */
  readonly raw: IncomingMessage;
  /** Below the mount path, without a leading slash: `""` for the page, `api/overview`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The body, if a middleware has already parsed it. */
  readonly parsedBody: unknown;
  /** Calls the application's `authorize`. */
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
