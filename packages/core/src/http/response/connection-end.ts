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
export type ConnectionListener = (isClosed: boolean) => void;

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
