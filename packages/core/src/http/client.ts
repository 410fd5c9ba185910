import { HeadgateError } from "../common/errors.ts";
import type { Verdict } from "./apply-verdict.ts";
import { DISCONNECTED } from "./apply-verdict.ts";

/** The properties that Headgate itself reads from a request, which the requests of most frameworks share. */
export interface HttpRequest {
  readonly ip?: string | undefined;
  /** A plain object as Node has it, or the `Headers` of the Fetch API. */
  readonly headers: NodeHeaders | WebHeaders;
}

/** The headers of a request of Node's, by their names in lower case. */
export type NodeHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The headers of a request of the Fetch API: `Headers`. */
export interface WebHeaders {
  get(name: string): string | null;
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

/** The members of an HTTP/1.1 connection that are used here. */
export interface Connection {
  readonly destroyed?: boolean | undefined;
  readonly writableEnded?: boolean | undefined;
  readonly remoteAddress?: string | undefined;
  readonly localAddress?: string | undefined;
  isPaused?(): boolean;
  on?(event: "close" | "end", listener: () => void): unknown;
  off?(event: "close" | "end", listener: () => void): unknown;
}

/** Called when a connection is closed, and when its client has ended its side. */
type ConnectionListener = (isClosed: boolean) => void;

interface ConnectionWatch {
  readonly listeners: Set<ConnectionListener>;
  readonly onClose: () => void;
  readonly onEnd: () => void;
}

const watches = new WeakMap<Connection, ConnectionWatch>();

/**
 * Watches a connection until the returned function is called. However many pipelined requests watch it, it has one listener of ours
 * for each event: Node warns at eleven.
 */
export function watchConnection(connection: Connection, listener: ConnectionListener): () => void {
  const { listeners, onClose, onEnd } = watches.get(connection) ?? listenTo(connection);
  listeners.add(listener);
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return;
    watches.delete(connection);
    connection.off?.("close", onClose);
    connection.off?.("end", onEnd);
  };
}

function listenTo(connection: Connection): ConnectionWatch {
  const listeners = new Set<ConnectionListener>();
  const notify = (isClosed: boolean): void => {
    for (const listener of [...listeners]) listener(isClosed);
  };
  const watch = { listeners, onClose: () => notify(true), onEnd: () => notify(false) };
  watches.set(connection, watch);
  connection.on?.("close", watch.onClose);
  connection.on?.("end", watch.onEnd);
  return watch;
}

/**
 * Whether a connection is gone. If a client reset it, its address is gone before Node reports the close. A unix socket has no
 * address at either end.
 */
export function isDisconnected(connection: Connection | null | undefined): boolean {
  if (!connection || connection.destroyed === true) return true;
  return connection.remoteAddress === undefined && connection.localAddress !== undefined;
}
