import type { IncomingMessage } from "node:http";

/** A request as an adapter hands it over. */
export interface Exchange {
  /** The request with its stream. */
  readonly raw: IncomingMessage;
  /** Below the mount path, without a slash in front: `""` for the page, `api/overview`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The body, where something in front of the dashboard has read it already. */
  readonly parsedBody: unknown;
  /** What the application's function says of the visitor; undefined if it has answered the request itself. */
  authorize(): Promise<unknown>;
  /** Whether the application has answered the request itself. */
  isAnswered(): boolean;
}

/** The answer that an adapter writes. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

/** A URL as a request has it, in parts: it may be absolute, and hold any bytes. */
export function splitUrl(url: string): { readonly path: string; readonly query: URLSearchParams } {
  const [target = ""] = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "").split("#");
  const at = target.indexOf("?");
  if (at === -1) return { path: target || "/", query: new URLSearchParams() };
  return { path: target.slice(0, at) || "/", query: new URLSearchParams(target.slice(at + 1)) };
}
