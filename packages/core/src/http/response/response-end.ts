import type { Connection } from "./connection-end.ts";
import { isGone, watchConnection } from "./connection-end.ts";

/*
 * The one place that knows when a response is over, or its client gone. Node's own events do not tell: a pipelined response emits
 * neither `finish` nor `close` if its connection closes before its turn, and in HTTP/2 a stream that was reset may emit no `close`.
 */

/** Hears how a response ends. Each method is called at most once, and either `onSent` or `onLeft` is called for each response. */
export interface ResponseListener {
  /**
   * The answer has been ended, with this status. Its client may still have to receive it, or may have left before: then this comes
   * after `onLeft`.
   */
  onEnded?(status: number): void;
  /** The whole answer has been handed to the network. */
  onSent?(): void;
  /** The connection or the stream closed before the whole answer had been sent. */
  onLeft?(): void;
}

/** What is used of a response of Node's: one of HTTP/1.1, or of HTTP/2's compatibility API, which has a stream. */
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

/** What is used of a stream of HTTP/2. */
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

/** How often an ended answer on a stream of HTTP/2 is looked at that is not sent yet. */
const LOOK_AGAIN_MS = 1_000;

const watches = new WeakMap<object, ResponseWatch>();

/**
 * Tells a listener how a response of Node's ends, until the returned function is called. Past events are told at once.
 * However many listen, the response has one listener of ours for each event.
 */
export function watchResponse(response: object, listener: ResponseListener): () => void {
  const watch = watches.get(response) ?? new ResponseWatch(response as Response);
  watches.set(response, watch);
  return watch.add(listener);
}

/**
 * Whether Node would notice that the client of a response left. It stops reading a connection on which about 16 KB of answers wait for
 * their turn, and then sees neither an end nor a reset before it writes; that hides also the client of the response whose turn it is.
 */
export function isClientSeen(response: object): boolean {
  const { stream, req } = response as Response;
  return stream !== undefined || req?.socket?.isPaused?.() !== true;
}

class ResponseWatch {
  readonly #response: Response;
  readonly #listeners = new Set<ResponseListener>();
  /** The status that the answer was ended with. */
  #status: number | undefined;
  #over: "onSent" | "onLeft" | undefined;
  #watchesEnd = false;
  /** Takes our listeners off; undefined while there are none. */
  #stop: (() => void) | undefined;
  /** Looks at a stream for what no event tells. */
  #look: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(response: Response) {
    this.#response = response;
  }

  add(listener: ResponseListener): () => void {
    if (this.#over === undefined && this.#stop === undefined) this.#start();
    if (listener.onEnded !== undefined) this.#watchEnd();
    this.#listeners.add(listener);
    if (this.#status !== undefined) listener.onEnded?.(this.#status);
    if (this.#over !== undefined) listener[this.#over]?.();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#rest();
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
    if (connection && isGone(connection)) this.#leave();
    else if (response.writableFinished === true) this.#send();
    if (this.#over !== undefined) return;
    const onFinish = (): void => {
      // Node emits `finish` also where the rest of an answer was dropped with its connection.
      const { socket } = response;
      if (socket?.destroyed || socket?.errored) this.#leave();
      else this.#send();
    };
    const onClose = (): void => this.#leave();
    // Before Node takes the connection off.
    response.prependOnceListener("finish", onFinish);
    response.once("close", onClose);
    const forget =
      connection &&
      watchConnection(connection, (isClosed) => {
        // After its client's end Node writes nothing more. A response that was ended in its turn may still be sent.
        const isCut = connection.writableEnded === true;
        const isOnItsWay = response.writableEnded && response.socket;
        if (isClosed || (isCut && !isOnItsWay)) this.#leave();
      });
    this.#stop = () => {
      response.off("finish", onFinish);
      response.off("close", onClose);
      forget?.();
    };
  }

  #listenToStream(stream: Http2Stream): void {
    const note = (): void => {
      // Node ends the stream of a HEAD request before its answer.
      if (stream.headersSent && stream.writableFinished && !stream.aborted) this.#send();
      else if (stream.aborted || stream.closed || stream.destroyed) this.#leave();
    };
    note();
    if (this.#over !== undefined) return;
    this.#look = note;
    // A stream that was reset emits `close` only when its request has been read; one that was ended does not emit `aborted`.
    const events = ["finish", "aborted", "close"] as const;
    for (const event of events) stream.on(event, note);
    this.#stop = () => {
      for (const event of events) stream.off(event, note);
    };
  }

  /** No event tells that `end` was called once the client has left, or while a pipelined response waits for its turn. */
  #watchEnd(): void {
    const response = this.#response;
    if (response.writableEnded) this.#end();
    if (this.#watchesEnd || this.#status !== undefined) return;
    this.#watchesEnd = true;
    const { end } = response;
    response.end = (...args) => {
      const returned = end.apply(response, args);
      this.#end();
      return returned;
    };
  }

  #end(): void {
    if (this.#status !== undefined) return;
    const { stream, statusCode } = this.#response;
    // The stream itself may have been written to, with a status of its own.
    const status = stream?.sentHeaders?.[":status"] ?? statusCode;
    this.#status = status;
    for (const listener of [...this.#listeners]) listener.onEnded?.(status);
    this.#lookAgain();
  }

  /** No event tells that a client gave up a stream without an error, while a part of the answer waits to be sent. */
  #lookAgain(): void {
    if (this.#look === undefined || this.#over !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#look?.();
      this.#lookAgain();
    }, LOOK_AGAIN_MS).unref();
  }

  #send(): void {
    this.#end();
    this.#finish("onSent");
  }

  #leave(): void {
    this.#finish("onLeft");
  }

  #finish(how: "onSent" | "onLeft"): void {
    if (this.#over !== undefined) return;
    this.#over = how;
    this.#rest();
    for (const listener of [...this.#listeners]) listener[how]?.();
  }

  #rest(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#look = undefined;
    clearTimeout(this.#timer);
  }
}
