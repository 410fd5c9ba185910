import { EventEmitter } from "node:events";
import { setImmediate } from "node:timers";
import type { Context, Next } from "hono";

/** How long a response may exist before its body is read, in milliseconds. */
const UNREAD_TIMEOUT_MS = 30_000;

/** How far the body of one response has been read; a response without a body has been read from the beginning. */
interface Reading {
  state: "unread" | "begun" | "read" | "failed";
}

/**
 * Replaces Node's response on platforms that respond with a `Response` of the Fetch API, which may never be read. It stands for
 * the last response that becomes `c.res`, and needs both the middleware to return and the body to be read:
 *
 * - It ends when the body has been read to the end. Without a body, and for a HEAD request, that is at once.
 * - Its client has disconnected if the body is cancelled or fails, or if the signal of the request aborts.
 * - Its client counts as disconnected, too, after `UNREAD_TIMEOUT_MS` in which no reader of the body appears (it was dropped
 *   outside Hono) or the middleware does not return (outer middleware has responded instead).
 *
 * A body that is dropped halfway is collected as garbage together with this, if nothing outside the request references it.
 */
export class FetchResponse extends EventEmitter {
  /** The status of the response; until there is one, that of a handler that throws. */
  statusCode = 500;
  writableEnded = false;
  writableFinished = false;
  readonly headersSent = false;
  readonly #context: Context;
  #isWatched = false;
  /** Whether a handler or inner middleware is running, which may still replace the response. */
  #isRunning = false;
  #reading: Reading | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(c: Context) {
    super();
    this.#context = c;
  }

  /** Listens to an event, as all that wait for the end of a response do. A response whose end is not awaited costs nothing. */
  override prependOnceListener(event: "finish", listener: () => void): this {
    if (!this.#isWatched) this.#watch();
    return super.prependOnceListener(event, listener);
  }

  #watch(): void {
    this.#isWatched = true;
    const c = this.#context;
    if (c.finalized) {
      // Outer middleware has responded meanwhile: that response is on its way.
      this.statusCode = c.res.status;
      this.#reading = { state: "read" };
      this.#update();
    }
    interceptResponses(c, (response) => this.#watchResponse(response));
    const leave = (): void => {
      // Deno also aborts the signal after it has sent a response.
      if (this.#isOver) this.#report();
      else this.emit("close");
    };
    const { signal } = c.req.raw;
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

  /** Calls `next`. A response that somebody else gives meanwhile may be sent before it resolves. */
  async run(next: Next): Promise<void> {
    this.#isRunning = true;
    try {
      await next();
    } finally {
      this.#isRunning = false;
    }
  }

  /** The middleware that created this has returned, or has thrown. */
  markReturned(): void {
    if (!this.#isWatched) return;
    this.#reading ??= { state: "read" };
    this.#update();
  }

  /** Whether nothing of the response is left to be read, unless it is replaced. */
  get #isOver(): boolean {
    const state = this.#reading?.state;
    return !this.#isRunning && (state === "read" || state === "failed");
  }

  #report(): void {
    if (this.#reading?.state === "read") this.end();
    else this.emit("close");
  }

  /** Returns the same response, with a body that is watched if anything waits for its end. */
  #watchResponse(response: Response): Response {
    this.statusCode = response.status;
    // Merely reading the property `body` has a price on Bun.
    const isHead = this.#context.req.raw.method === "HEAD";
    const body = isHead || this.listenerCount("finish") === 0 ? null : response.body;
    const reading: Reading = { state: body === null ? "read" : "unread" };
    this.#reading = reading;
    this.#update();
    return body === null ? response : new Response(this.#watchBody(body, reading), response);
  }

  #update(): void {
    clearTimeout(this.#timer);
    if (this.#isOver) {
      // Outer middleware may replace it in this turn of the event loop.
      setImmediate(() => {
        if (this.#isOver) this.#report();
      });
    } else if (this.#reading?.state !== "begun") {
      this.#timer = setTimeout(() => this.emit("close"), UNREAD_TIMEOUT_MS).unref();
    }
  }

  #watchBody(body: ReadableStream<Uint8Array>, reading: Reading): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    const advance = (state: Reading["state"]): void => {
      reading.state = state;
      this.#update();
    };
    return new ReadableStream(
      {
        pull: async (controller) => {
          advance("begun");
          try {
            const { done, value } = await reader.read();
            if (!done) return controller.enqueue(value);
            controller.close();
            advance("read");
          } catch (error) {
            advance("failed");
            controller.error(error);
          }
        },
        cancel: (reason) => {
          advance("failed");
          return reader.cancel(reason);
        },
      },
      // Nothing is read, or counts as read, before a reader requests it.
      { highWaterMark: 0 },
    );
  }
}

/** Passes each response that becomes `c.res` to a function, and sets its result instead. */
function interceptResponses(c: Context, replace: (response: Response) => Response): void {
  const property = (Object.getOwnPropertyDescriptor(c, "res") ??
    Object.getOwnPropertyDescriptor(
      Object.getPrototypeOf(c),
      "res",
    )) as Required<PropertyDescriptor>;
  Object.defineProperty(c, "res", {
    configurable: true,
    get: property.get,
    set(response: Response | undefined) {
      property.set.call(c, response && replace(response));
    },
  });
}
