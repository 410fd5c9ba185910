import type { ServerResponse } from "node:http";
import { addAbortCallback } from "../common/abort-listeners.ts";
import type { SlotHandle } from "../policy/limiter-decision.ts";
import type { DisconnectWatch } from "../queue/queue.ts";
import type { Client, Connection } from "./client.ts";
import { isDisconnected, watchConnection } from "./client.ts";

/*
 * Watches a response until it has been sent or its client has disconnected. Node's own events are not enough: a
 * pipelined response emits neither `finish` nor `close` if its connection closes before its turn, and an HTTP/2 stream that was
 * reset may not emit `close`.
 */

/**
 * Receives the end of a response. Each method is called at most once, and for each response either `onSent` or `onDisconnected` is
 * called.
 */
interface ResponseListener {
  /**
   * The response has been ended, with this status. Its client may still have to receive it, or may have disconnected: then this
   * comes after `onDisconnected`.
   */
  onEnded?(status: number): void;
  /** The whole response has been handed to the network. */
  onSent?(): void;
  /** The connection or the stream closed before the whole response was sent. */
  onDisconnected?(): void;
}

/**
 * Reports the end of one of Node's responses to a listener, until the returned function is called. Past events are reported at
 * once. However many listeners there are, the response has one listener of ours for each event.
 */
export function watchResponse(response: object, listener: ResponseListener): () => void {
  const watch = watches.get(response) ?? new ResponseWatch(response as Response);
  watches.set(response, watch);
  return watch.add(listener);
}

/**
 * Renews a request's slots until its response ends, and then releases them. If the client disconnects before that, they are no
 * longer renewed but also not released, so that disconnecting frees no slot. They are not renewed either while Node could not
 * notice that the client disconnected, or once the response has been collected as garbage.
 */
export function holdSlots(slots: SlotHandle, response: object): void {
  const known = new WeakRef(response);
  slots.startRenewing(() => {
    const current = known.deref();
    return current !== undefined && canDetectDisconnect(current);
  });
  watchResponse(response, {
    onEnded() {
      // If the store is unavailable, they expire.
      slots.release().catch(() => {});
    },
    onDisconnected() {
      slots.abandon();
    },
  });
}

/** Resolves with the status of a response when it has been ended; with undefined if its client disconnected before. */
export function waitForStatus(response: object): Promise<number | undefined> {
  return new Promise((resolve) => {
    watchResponse(response, { onEnded: resolve, onDisconnected: () => resolve(undefined) });
  });
}

/** Resolves with whether the whole response was sent, once that is known. */
export function waitUntilSent(response: object): Promise<boolean> {
  return new Promise((resolve) => {
    watchResponse(response, { onSent: () => resolve(true), onDisconnected: () => resolve(false) });
  });
}

/**
 * Watches whether a request still needs a response: its client is connected, and nothing else has ended Node's response.
 * `closing` aborts when all waits must end.
 */
export function watchDisconnect(
  response: object,
  client: Client,
  closing: AbortSignal,
): DisconnectWatch {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  let isOver = false;
  const leave = (): void => {
    isOver = true;
    end();
  };
  const stopWatchingResponse = watchResponse(response, { onEnded: leave, onDisconnected: leave });
  const stopWatchingClosing = addAbortCallback(closing, end);
  const isDisconnected = (): boolean => isOver || client.isDisconnected();
  if (isDisconnected() || closing.aborted) end();
  return {
    signal: controller.signal,
    isDisconnected,
    stop() {
      stopWatchingClosing();
      stopWatchingResponse();
    },
  };
}

/** Whether a response's end can be watched: not if it is Node's request, a framework's own response, or one of the Fetch API. */
export function isNodeResponse(response: unknown): response is object {
  const { setHeader, prependOnceListener } = (response ?? {}) as Partial<ServerResponse>;
  return typeof setHeader === "function" && typeof prependOnceListener === "function";
}

/** The members of Node's response that are used here: of HTTP/1.1, or of HTTP/2's compatibility API, which has a stream. */
interface Response {
  readonly statusCode: number;
  readonly writableEnded: boolean;
  readonly writableFinished?: boolean | undefined;
  readonly req?: { readonly socket?: Connection | null | undefined } | undefined;
  readonly socket?: (Connection & { readonly errored?: Error | null | undefined }) | null;
  readonly stream?: Http2Stream | undefined;
  end(...args: unknown[]): unknown;
  once(event: "close", listener: () => void): unknown;
  prependOnceListener(event: "finish", listener: () => void): unknown;
  off(event: "finish" | "close", listener: () => void): unknown;
}

/** The members of an HTTP/2 stream that are used here. */
interface Http2Stream {
  readonly aborted: boolean;
  readonly closed: boolean;
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  readonly writableFinished: boolean;
  readonly sentHeaders?: { readonly ":status"?: number | undefined } | undefined;
  on(event: "finish" | "aborted" | "close", listener: () => void): unknown;
  off(event: "finish" | "aborted" | "close", listener: () => void): unknown;
}

/** How often to check an ended HTTP/2 response that is not sent yet. */
const POLL_INTERVAL_MS = 1_000;

const watches = new WeakMap<object, ResponseWatch>();

/**
 * Whether Node would notice that a response's client disconnected. Node stops reading a connection on which about 16 KB of
 * responses wait for their turn. Then it sees neither an end nor a reset until it writes; this also hides the client of the
 * response whose turn it is.
 */
function canDetectDisconnect(response: object): boolean {
  const { stream, req } = response as Response;
  return stream !== undefined || req?.socket?.isPaused?.() !== true;
}

class ResponseWatch {
  readonly #response: Response;
  readonly #listeners = new Set<ResponseListener>();
  /** The status with which the response was ended. */
  #status: number | undefined;
  #outcome: "onSent" | "onDisconnected" | undefined;
  #watchesEnd = false;
  /** Removes our listeners; undefined while there are none. */
  #stop: (() => void) | undefined;
  /** Checks a stream for changes without an event. */
  #poll: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(response: Response) {
    this.#response = response;
  }

  add(listener: ResponseListener): () => void {
    if (this.#outcome === undefined && this.#stop === undefined) this.#start();
    if (listener.onEnded !== undefined) this.#watchEnd();
    this.#listeners.add(listener);
    if (this.#status !== undefined) listener.onEnded?.(this.#status);
    if (this.#outcome !== undefined) listener[this.#outcome]?.();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#removeListeners();
    };
  }

  #start(): void {
    const { stream } = this.#response;
    if (stream === undefined) this.#listenToResponse();
    else this.#listenToStream(stream);
  }

  #listenToResponse(): void {
    const response = this.#response;
    const connection = response.req?.socket;
    if (connection && isDisconnected(connection)) this.#reportDisconnected();
    else if (response.writableFinished === true) this.#reportSent();
    if (this.#outcome !== undefined) return;
    const onFinish = (): void => {
      // Node also emits `finish` if the rest of a response was dropped with its connection, which after a reset has an error before
      // it is destroyed.
      const { socket } = response;
      if (socket?.destroyed || socket?.errored) this.#reportDisconnected();
      else this.#reportSent();
    };
    const onClose = (): void => this.#reportDisconnected();
    // Runs before Node detaches the connection.
    response.prependOnceListener("finish", onFinish);
    response.once("close", onClose);
    const forget =
      connection &&
      watchConnection(connection, (isClosed) => {
        // After the client has ended, Node writes nothing more. But a response that was ended in its turn may still be sent.
        const isCut = connection.writableEnded === true;
        const isOnItsWay = response.writableEnded && response.socket;
        if (isClosed || (isCut && !isOnItsWay)) this.#reportDisconnected();
      });
    this.#stop = () => {
      response.off("finish", onFinish);
      response.off("close", onClose);
      forget?.();
    };
  }

  #listenToStream(stream: Http2Stream): void {
    const note = (): void => {
      // Node ends the stream of a HEAD request before its response.
      if (stream.headersSent && stream.writableFinished && !stream.aborted) this.#reportSent();
      else if (stream.aborted || stream.closed || stream.destroyed) this.#reportDisconnected();
    };
    note();
    if (this.#outcome !== undefined) return;
    this.#poll = note;
    // A stream that was reset emits `close` only after its request has been read; one that was ended does not emit `aborted`.
    const events = ["finish", "aborted", "close"] as const;
    for (const event of events) stream.on(event, note);
    this.#stop = () => {
      for (const event of events) stream.off(event, note);
    };
  }

  /** There is no event for a call of `end` after the client has disconnected, or while a pipelined response waits for its turn. */
  #watchEnd(): void {
    const response = this.#response;
    if (response.writableEnded) this.#reportEnded();
    if (this.#watchesEnd || this.#status !== undefined) return;
    this.#watchesEnd = true;
    const { end } = response;
    response.end = (...args) => {
      const returned = end.apply(response, args);
      this.#reportEnded();
      return returned;
    };
  }

  #reportEnded(): void {
    if (this.#status !== undefined) return;
    const { stream, statusCode } = this.#response;
    // The application may have written to the stream directly, with a status of its own.
    const status = stream?.sentHeaders?.[":status"] ?? statusCode;
    this.#status = status;
    for (const listener of [...this.#listeners]) listener.onEnded?.(status);
    this.#schedulePoll();
  }

  /** There is no event when a client abandons a stream without an error while part of the response waits to be sent. */
  #schedulePoll(): void {
    if (this.#poll === undefined || this.#outcome !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#poll?.();
      this.#schedulePoll();
    }, POLL_INTERVAL_MS).unref();
  }

  #reportSent(): void {
    this.#reportEnded();
    this.#report("onSent");
  }

  #reportDisconnected(): void {
    this.#report("onDisconnected");
  }

  #report(how: "onSent" | "onDisconnected"): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = how;
    this.#removeListeners();
    for (const listener of [...this.#listeners]) listener[how]?.();
  }

  #removeListeners(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#poll = undefined;
    clearTimeout(this.#timer);
  }
}
