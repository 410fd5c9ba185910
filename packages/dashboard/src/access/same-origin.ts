import type { IncomingHttpHeaders } from "node:http";
import { HttpError } from "../serve/http-error.ts";

/**
 * Throws an `HttpError` unless the browser confirms that a request comes from a page of this origin. Browsers that do not send
 * `Sec-Fetch-Site` send `Origin`, whose host must match the requested one; the scheme is not compared, because a proxy may have
 * terminated TLS.
 */
export function requireSameOrigin(headers: IncomingHttpHeaders): void {
  const site = headers["sec-fetch-site"];
  // HTTP/2 has `:authority` instead of `Host`.
  const host = headers.host ?? headers[":authority"]?.toString();
  if (site === undefined ? isSameHost(headers.origin, host) : site === "same-origin") return;
  throw new HttpError(403, "CROSS_SITE", "only the dashboard's own page may send this request");
}

function isSameHost(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || host === undefined || !/^https?:\/\//.test(origin)) return false;
  const own = `http://${host}`;
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).host === new URL(own).host;
}
