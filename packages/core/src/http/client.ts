import { HeadgateError } from "../common/errors.ts";
import type { Connection } from "./response/connection-end.ts";
import { isDisconnected } from "./response/connection-end.ts";
import type { Verdict } from "./verdict.ts";
import { DISCONNECTED } from "./verdict.ts";
import type { Warn } from "./warn.ts";

/** The headers of a request of the Fetch API: `Headers`. */
export interface WebHeaders {
  get(name: string): string | null;
}

/** The headers of a request of Node's, by their names in lower case. */
export type NodeHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The properties that Headgate itself reads from a request, which the requests of most frameworks share. */
export interface HttpRequest {
  readonly ip?: string | undefined;
  /** A plain object as Node has it, or the `Headers` of the Fetch API. */
  readonly headers: NodeHeaders | WebHeaders;
}

/**
 * Under this symbol an object stores the HTTP request that it wraps, for frameworks that pass an object without headers to the
 * functions in the options: the context of Hono, or of Nest. Decisions are stored on the wrapped request.
 */
export const WRAPPED_REQUEST: unique symbol = Symbol.for("@headgate/core.http") as never;

/** An object that wraps a request. */
export interface RequestWrapper {
  [WRAPPED_REQUEST]?: HttpRequest | undefined;
}

/** The request that an object wraps, or the object itself. */
export function unwrapRequest<Request extends object>(request: Request): Request {
  return ((request as RequestWrapper)[WRAPPED_REQUEST] as Request | undefined) ?? request;
}

/** The value of a request's header, whose name is in lower case; undefined if there is none. */
export function headerValue(
  headers: NodeHeaders | WebHeaders,
  name: string,
): string | readonly string[] | undefined {
  if (isWebHeaders(headers)) return headers.get(name) ?? undefined;
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}

/** A client may send a header named `get`, whose value is a string. */
function isWebHeaders(headers: NodeHeaders | WebHeaders): headers is WebHeaders {
  return typeof headers.get === "function";
}

/** The sender of a request, read before any await. */
export interface Client {
  /** The client's address, according to the framework's proxy trust. */
  readonly address: string | undefined;
  /** The address at the other end of the connection. */
  readonly peer: string | undefined;
  /** Whether the connection is gone. */
  isDisconnected(): boolean;
}

/** The client that sent a request, with the address from the framework. */
export function clientOf(
  address: string | undefined,
  request: { readonly socket?: Connection | null | undefined },
): Client {
  return {
    address,
    peer: request.socket?.remoteAddress,
    // A request of the Fetch API has no connection that could close.
    isDisconnected() {
      return "socket" in request && isDisconnected(request.socket);
    },
  };
}

/** Drops a request without a required address if its client has disconnected. Otherwise throws `HEADGATE_NO_ADDRESS`. */
export function handleMissingAddress(owner: string, client: Client, fix: string): Verdict {
  if (client.isDisconnected()) return DISCONNECTED;
  throw new HeadgateError(
    "HEADGATE_NO_ADDRESS",
    `${owner}: a request has no client address, as over a unix socket; let the framework trust the proxy in front, or ${fix}`,
  );
}

/**
 * More hops than any real chain of proxies has, from address ranges reserved for documentation (RFC
 * 5737).
 */
const UNTRUSTED_ADDRESSES = Array.from({ length: 64 }, (_, i) => `198.51.100.${i + 1}`);

/** The properties of a request context from which the sender is known. */
export interface ReceivedRequest {
  readonly request: HttpRequest;
  readonly httpRequest: HttpRequest;
  readonly frameworkClient: Client;
}

/** A step that warns once if the proxy trust would count the wrong address. */
export type TrustCheck = (arrival: ReceivedRequest) => undefined;

export function createTrustCheck(warn: Warn): TrustCheck {
  let seen = 0;
  let warnedUntrusted = false;
  return ({ request, httpRequest, frameworkClient: { address, peer } }) => {
    seen += 1;
    if (
      seen === 1 &&
      simulateAddress(httpRequest, "203.0.113.1", UNTRUSTED_ADDRESSES) === UNTRUSTED_ADDRESSES[0]
    ) {
      warn(
        "HEADGATE_ALL_PROXIES_TRUSTED",
        "the framework trusts X-Forwarded-For from every client, so a client can evade its limits by sending another address; trust only the addresses of your proxies",
        request,
      );
    }
    if (address !== peer || peer === undefined || warnedUntrusted) return;
    // A proxy forwards every request with the header, so later it is found in one of a few.
    if (seen > 1_000 && seen % 17 !== 0) return;
    if (!isForwarded(httpRequest.headers)) return;
    // A trusted proxy may forward requests of a client with its own address.
    if (
      simulateAddress(httpRequest, peer, [UNTRUSTED_ADDRESSES[0] as string]) ===
      UNTRUSTED_ADDRESSES[0]
    )
      return;
    warnedUntrusted = true;
    warn(
      "HEADGATE_PROXY_NOT_TRUSTED",
      `a request came with a forwarding header from ${peer}, which is not trusted as a proxy, so all clients behind it count as one; if it is your proxy, let the framework trust it (Fastify: trustProxy, Express: "trust proxy"), or give the option address`,
      request,
    );
  };
}

function isForwarded(headers: HttpRequest["headers"]): boolean {
  if (typeof headers.get === "function") {
    return headers.get("x-forwarded-for") !== null || headers.get("forwarded") !== null;
  }
  const { "x-forwarded-for": forwardedFor, forwarded } = headers as NodeHeaders;
  return forwardedFor !== undefined || forwarded !== undefined;
}

/** The address that the framework itself would read from a request like this one, forwarded by `peer`. */
function simulateAddress(
  request: HttpRequest,
  peer: string,
  forwardedFor: readonly string[],
): string | undefined {
  const socket = { remoteAddress: peer };
  const headers = { "x-forwarded-for": forwardedFor.join(", ") };
  // The application's own trust function may throw for unknown addresses; that must not fail the request.
  try {
    return Object.create(request, {
      raw: { value: { socket, connection: socket, headers } },
      socket: { value: socket },
      connection: { value: socket },
      headers: { value: headers },
    }).ip;
  } catch {
    return undefined;
  }
}
