/** What is used of the connection that a request came over. */
export interface Connection {
  readonly destroyed?: boolean | undefined;
  readonly remoteAddress?: string | undefined;
  readonly localAddress?: string | undefined;
  once?(event: "close", listener: () => void): unknown;
  off?(event: "close", listener: () => void): unknown;
}

/**
 * The address of a client that reset its connection is gone before Node says that the connection is; a unix socket has no
 * address at either end. A stream of HTTP/2 that is gone has no connection.
 */
export function isGone(connection: Connection | null | undefined): boolean {
  if (!connection || connection.destroyed === true) return true;
  return connection.remoteAddress === undefined && connection.localAddress !== undefined;
}
