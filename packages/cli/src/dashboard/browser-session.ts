import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** A session cookie: it ends with the browser or this process. */
const COOKIE = "headgate-dashboard";

/** The path of the printed link. */
const SIGN_IN = "/sign-in";

/** Admits to a server on loopback only the browser that opened the printed link. */
export interface BrowserSession {
  /** The path and query of the link, which works once. */
  readonly link: string;
  /** The path of the page. It is secret, so that the browser does not send the cookie to servers on other ports of this host. */
  readonly path: string;
  /** Whether a request comes from the browser that opened the link. */
  isSignedIn(request: IncomingMessage): boolean;
  /** Called when a browser has signed in with the link. */
  onSignIn: () => void;
  /** Handles requests for the link, and refuses other hosts. Passes all other requests on. */
  guard(next: RequestListener): RequestListener;
}

/**
 * `hosts` are the permitted values of the Host header. A foreign page whose name resolves to this machine (DNS rebinding) sends
 * another one.
 */
export function createBrowserSession(hosts: () => readonly string[]): BrowserSession {
  const session = secret();
  const path = `/${secret()}`;
  let token: string | undefined = secret();

  /** True once, for the right token. */
  function redeemToken(given: string): boolean {
    if (token === undefined || !isSame(given, token)) return false;
    token = undefined;
    return true;
  }

  function signIn(query: string, response: ServerResponse): void {
    if (!redeemToken(new URLSearchParams(query).get("token") ?? "")) {
      refuse(response, 403, "This link has been used already. Run headgate dashboard again.");
      return;
    }
    visitors.onSignIn();
    // Not a redirect: a browser that came from another site or a file would follow it without the cookie.
    response.writeHead(200, {
      ...HEADERS,
      "content-type": "text/html; charset=utf-8",
      refresh: `0; url=${path}/`,
      "set-cookie": `${COOKIE}=${session}; HttpOnly; SameSite=Strict; Path=${path}`,
    });
    response.end(
      `<!doctype html><title>Headgate</title><a href="${path}/">Open the dashboard</a>\n`,
    );
  }

  const visitors: BrowserSession = {
    link: `${SIGN_IN}?token=${token}`,
    path,
    onSignIn: () => {},

    isSignedIn: ({ headers }) =>
      (headers.cookie ?? "").split(/; */).some((one) => isSame(one, `${COOKIE}=${session}`)),

    guard: (next) => (request, response) => {
      const { host = "" } = request.headers;
      if (!hosts().includes(host.toLowerCase())) {
        refuse(response, 421, `This is not ${host}.`);
        return;
      }
      // Not parsed as a URL, because a target such as `//` is not one.
      const [target, query = ""] = (request.url ?? "").split("?");
      if (target === SIGN_IN && request.method === "GET") signIn(query, response);
      else next(request, response);
    },
  };
  return visitors;
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const HEADERS = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { ...HEADERS, "content-type": "text/plain; charset=utf-8" });
  response.end(`${text}\n`);
}
