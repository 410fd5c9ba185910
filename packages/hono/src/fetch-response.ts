import { EventEmitter } from "node:events";

/**
 * Replaces Node's response on platforms that respond with a `Response` of the Fetch API. It ends when the body has been read to
 * its end. Its client has disconnected if the body is cancelled, or if `signal` aborts before.
 */
export class FetchResponse extends EventEmitter {
  statusCode = 200;
  writableEnded = false;
  writableFinished = false;
  readonly headersSent = false;

  constructor(signal: AbortSignal) {
    super();
    const leave = (): void => void this.emit("close");
    if (signal.aborted) queueMicrotask(leave);
    else signal.addEventListener("abort", leave, { once: true });
  }

  /** A response of Node's has this method. Headers are set on the `Response`. */
  setHeader(): void {}

  end(): void {
    this.writableEnded = true;
    this.writableFinished = true;
    this.emit("finish");
  }

  /** Returns the same response, with a body that is watched. */
  watchResponse(response: Response): Response {
    this.statusCode = response.status;
    if (response.body !== null) return new Response(this.#watchBody(response.body), response);
    this.end();
    return response;
  }

  #watchBody(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream({
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
          this.end();
        } catch (error) {
          this.emit("close");
          controller.error(error);
        }
      },
      cancel: (reason) => {
        this.emit("close");
        return reader.cancel(reason);
      },
    });
  }
}
