import { onceAborted } from "../limiter/line/abort-listeners.ts";
import type { Leaving } from "../limiter/line/line.ts";
import type { Client } from "./verdict.ts";

/** What is used of the connection that a request came over. */
interface Connection {
  once?(event: "close", listener: () => void): unknown;
  off?(event: "close", listener: () => void): unknown;
}

/** What is used of a response of Node's: one of HTTP/1.1, or of HTTP/2's compatibility API. */
interface Response {
  readonly req?: { readonly socket?: Connection | null | undefined } | undefined;
  readonly writableEnded: boolean;
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
}

/** The requests that wait on a connection. */
interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly callAll: () => void;
}

const waitingOn = new WeakMap<object, Waiting>();

/**
 * Watches, from now on, whether a request is still to be answered, on this response of Node's: its client is there, and nothing else
 * has answered it. `ending` aborts when nobody is to wait any more.
 */
export function watchLeaving(response: object, client: Client, ending: AbortSignal): Leaving {
  const answer = response as Response;
  const socket = answer.req?.socket;
  const controller = new AbortController();
  let isClosed = false;
  const end = (): void => controller.abort();
  const leave = (): void => {
    isClosed = true;
    end();
  };
  const hasLeft = (): boolean => isClosed || answer.writableEnded || client.hasLeft();
  if (hasLeft() || ending.aborted) end();
  const forgetEnding = onceAborted(ending, end);
  answer.once("close", leave);
  // Of requests that were sent one behind the other, only the first one's response hears that the connection is closed.
  const forget = socket && onceClosed(socket, leave);
  return {
    signal: controller.signal,
    hasLeft,
    stop() {
      forgetEnding();
      answer.off("close", leave);
      forget?.();
    },
  };
}

/**
 * Calls back when a connection is closed, until the function that is returned is called, once. However many requests wait on a
 * connection, it has one listener of ours: Node warns of eleven.
 */
function onceClosed(connection: Connection, callback: () => void): () => void {
  const waiting = waitingOn.get(connection) ?? listenTo(connection);
  const { callbacks, callAll } = waiting;
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    waitingOn.delete(connection);
    connection.off?.("close", callAll);
  };
}

function listenTo(connection: Connection): Waiting {
  const callbacks = new Set<() => void>();
  const waiting: Waiting = {
    callbacks,
    callAll() {
      for (const callback of callbacks) callback();
    },
  };
  waitingOn.set(connection, waiting);
  connection.once?.("close", waiting.callAll);
  return waiting;
}
